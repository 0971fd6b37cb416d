//! Members that come and go: discoveries, lists that change, and who is removed.

use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::BreakerState;
use evenkeel_tests::{Network, Peer, RawClient, Reply, Stub};
use evenkeel_tonic::target::TargetName;
use evenkeel_tonic::{NoHealthyTargets, Pool, cause};
use tokio::sync::watch;
use tonic::Code;

use crate::lab::{
    ECHO, EXPORT, Lab, busy, code, fails, opens_after, pass, plain, pool_of, says, spread, text,
};

fn targets(names: &[&str]) -> Vec<TargetName> {
    names.iter().map(|name| format!("{name}:1").parse().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_member_that_stays_keeps_its_connection_and_what_is_known_of_it() {
    let mut lab = Lab::new(&["a", "b"], plain().breaker(opens_after(2)));
    lab.serve("c");
    lab.serve_with("a", [fails(Code::Internal)]);
    assert_eq!(lab.calls(4).await, "!b!b");
    lab.pool().set_targets(targets(&["c", "a"]));
    assert_eq!(lab.pool().members(), ["a:1", "c:1"], "a has its place for life");
    assert_eq!(lab.calls(3).await, "ccc");
    assert_eq!(lab.circuit("a", ECHO), (BreakerState::Open, 2));
    assert_eq!(lab.peer("a").connections(), 1);
}

/// It finishes the calls it has, gets no other, and its connection goes when they are over.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_removed_drains() {
    let mut lab = Lab::new(&["a"], plain());
    lab.serve("b");
    lab.serve_with(
        "a",
        [Reply::headers()
            .message("1")
            .wait(Duration::from_secs(3))
            .message("2")
            .end(tonic::Status::ok(""))],
    );
    let mut client = RawClient::of(EXPORT, lab.service.clone());
    let mut stream = client.server_streaming("all").await.unwrap().into_inner();
    assert_eq!(stream.message().await.unwrap().unwrap(), "1");
    lab.pool().set_targets(targets(&["b"]));
    assert_eq!(lab.calls(3).await, "bbb");
    assert_eq!(lab.pool().in_flight(), 1);
    assert_eq!(stream.message().await.unwrap().unwrap(), "2");
    assert!(stream.message().await.unwrap().is_none());
    assert_eq!(lab.pool().in_flight(), 0);
    assert_eq!(lab.count("a"), 1);
}

/// The list changes between the attempts of a call.
#[tokio::test(start_paused = true)]
async fn a_retry_goes_to_a_member_of_the_new_list() {
    let mut lab = Lab::new(&["a"], crate::lab::retrying(2));
    lab.serve("b");
    lab.serve_with("a", [busy().after(Duration::from_secs(1))]);
    let change = async {
        pass(500).await;
        lab.pool().set_targets(targets(&["b"]));
    };
    let (answer, ()) = tokio::join!(lab.call(), change);
    assert_eq!(answer.unwrap(), "b");
    assert_eq!((lab.count("a"), lab.count("b")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_was_there_before_finds_its_breaker_again() {
    let mut lab = Lab::new(&["a", "b"], plain().breaker(opens_after(1)));
    lab.serve_with("a", [fails(Code::Internal)]);
    assert_eq!(lab.calls(2).await, "!b");
    lab.pool().set_targets(targets(&["b"]));
    lab.calls(2).await;
    lab.pool().set_targets(targets(&["a", "b"]));
    assert_eq!(lab.calls(4).await, "bbbb", "a is as broken as it was");
}

/// Whoever gets the number of one that was avoided begins without blame.
#[tokio::test(start_paused = true)]
async fn a_new_member_does_not_inherit_a_quarantine() {
    let mut lab = Lab::new(&["a", "b"], plain());
    lab.serve("c");
    lab.serve_with("a", [busy()]);
    assert_eq!(lab.calls(4).await, "!bbb", "a is avoided");
    lab.pool().set_targets(targets(&["b"]));
    lab.pool().set_targets(targets(&["c", "b"]));
    assert_eq!(lab.pool().members(), ["c:1", "b:1"], "c has the place of a");
    lab.calls(2).await;
    pass(1).await;
    assert_eq!(spread(&lab.calls(20).await), [('b', 10), ('c', 10)]);
}

/// And nobody gets that of one whose calls are still under way.
#[tokio::test(start_paused = true)]
async fn a_number_is_free_when_the_last_call_of_its_member_is_over() {
    let mut lab = Lab::new(&["a", "b"], plain());
    lab.serve("c");
    lab.serve_with("a", [Reply::hang()]);
    let members = async |after: u64, names: &[&str]| {
        pass(after).await;
        lab.pool().set_targets(targets(names));
        lab.pool().members()
    };
    let replaced = async {
        _ = members(10, &["b"]).await;
        assert_eq!(members(10, &["c", "b"]).await, ["b:1", "c:1"], "a has its number yet");
        _ = members(10_000, &["b"]).await;
        members(10, &["c", "b"]).await
    };
    let (hung, members) = tokio::join!(lab.call(), replaced);
    assert_eq!(code(&hung), Code::DeadlineExceeded);
    assert_eq!(members, ["c:1", "b:1"], "it was free for c");
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_nobody_and_the_next_one_somebody() {
    let lab = Lab::new(&["a"], plain());
    assert_eq!(lab.calls(1).await, "a");
    lab.pool().set_targets([]);
    let failed = lab.call().await.unwrap_err();
    assert!(cause::<NoHealthyTargets>(&failed).unwrap().targets.is_empty());
    lab.pool().set_targets(targets(&["a", "a", "a"]));
    assert_eq!(lab.pool().members(), ["a:1"]);
    assert_eq!(lab.calls(1).await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_watched_list_is_followed() {
    let net = Network::new();
    let [first, _second] = ["a", "b"].map(|name| Peer::new([says(name)]).listen(&net, name));
    let (sender, receiver) = watch::channel(targets(&["a"]));
    let pool = Pool::builder().insecure().connector(net.dialer()).watch(receiver);
    let service = plain().build_pool(pool).unwrap();
    let call = async || {
        let mut client = RawClient::of(ECHO, service.clone());
        client.unary("ping").await.map(|response| text(response.into_inner()))
    };
    // The very first call waits until it is known who there is, and loses nothing by it.
    assert_eq!(call().await.unwrap(), "a");
    let asked = &first.requests()[0];
    assert_eq!((&*asked.path, asked.body.ends_with(b"ping")), (ECHO, true));
    sender.send(targets(&["b"])).unwrap();
    pass(1).await;
    assert_eq!(call().await.unwrap(), "b");
    // Its end is no change.
    drop(sender);
    pass(1).await;
    assert_eq!(call().await.unwrap(), "b");
}

/// Before a discovery has said anything a call waits for it, for no longer than it has.
#[tokio::test(start_paused = true)]
async fn a_discovery_that_says_nothing_is_waited_for_until_the_deadline() {
    let net = Network::new();
    let _peer = Peer::new([says("a")]).listen(&net, "a");
    let updates =
        tokio_stream::StreamExt::then(tokio_stream::iter([targets(&["a"])]), |list| async {
            tokio::time::sleep(Duration::from_secs(12)).await;
            list
        });
    let pool = Pool::builder().insecure().connector(net.dialer()).discover(updates);
    let service = plain().build_pool(pool).unwrap();
    let mut client = RawClient::of(ECHO, service);
    let (late, took) = crate::lab::timed(client.unary("ping")).await;
    assert_eq!((late.unwrap_err().code(), took), (Code::DeadlineExceeded, 10_000));
    let (answer, took) = crate::lab::timed(client.unary("ping")).await;
    assert_eq!((text(answer.unwrap().into_inner()).as_str(), took), ("a", 2_000));
}

/// What is over before it has said anything says nobody, and no call waits for more.
#[tokio::test(start_paused = true)]
async fn a_discovery_that_ends_or_panics_before_its_first_list_is_not_waited_for() {
    let ends = |panics: bool| {
        tokio_stream::StreamExt::then(tokio_stream::once(()), move |()| async move {
            pass(1_000).await;
            assert!(!panics, "as a discovery of somebody's may");
        })
    };
    for panics in [false, true] {
        let updates = tokio_stream::StreamExt::filter_map(ends(panics), |()| None);
        let pool = pool_of(&Network::new(), &[]).discover(updates);
        let service = plain().wait_for_ready(false).build_pool(pool).unwrap();
        let mut client = RawClient::of(ECHO, service);
        let (failed, took) = crate::lab::timed(client.unary("ping")).await;
        assert_eq!(took, 1_000, "{failed:?}");
        assert!(cause::<NoHealthyTargets>(&failed.unwrap_err()).unwrap().targets.is_empty());
    }
}

/// The list that a discovery gave before it panicked stays, as at its end.
#[tokio::test(start_paused = true)]
async fn a_discovery_that_panics_leaves_the_members_as_they_are() {
    let mut lab = Lab::tuned(&["a"], plain(), |pool| {
        let lists = [Some(targets(&["a", "b"])), None];
        pool.discover(tokio_stream::StreamExt::map(tokio_stream::iter(lists), Option::unwrap))
    });
    lab.serve("b");
    pass(1).await;
    assert_eq!(spread(&lab.calls(4).await), [('a', 2), ('b', 2)]);
}

/// A discovery may be mistaken; what is kept of it is bounded.
#[tokio::test(start_paused = true)]
async fn a_list_without_end_is_cut_off() {
    let lab = Lab::new(&["a"], plain().breaker(opens_after(5)));
    let many = (0..).map(|n| format!("m{n}:1").parse().unwrap());
    lab.pool().set_targets(many);
    assert_eq!(lab.pool().members().len(), 4_096);
    // All of them are dark, and a call finds that out in no time.
    let (failed, took) = crate::lab::timed(lab.call()).await;
    assert_eq!((failed.unwrap_err().code(), took), (Code::Unavailable, 0));
    lab.pool().set_targets(targets(&["a"]));
    assert_eq!(lab.pool().members(), ["a:1"]);
    assert_eq!(lab.calls(2).await, "aa");
}

/// Whole fleets that wait for a connection do not wait for each other.
#[tokio::test(start_paused = true)]
async fn a_hundred_calls_wait_for_a_fleet_that_is_away() {
    let names: Vec<String> = (0..50).map(|n| format!("m{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lab = Lab::new(&names, plain().wait_for_ready(true));
    names.iter().for_each(|name| lab.kill(name));
    let calls = futures_util::future::join_all((0..100).map(|_| lab.call()));
    let peer = lab.peer("m30").clone();
    lab.net.after(Duration::from_secs(3), move |net| drop(peer.listen(net, "m30")));
    let (answers, took) = crate::lab::timed(calls).await;
    assert!(answers.iter().all(|answer| answer.as_deref().is_ok_and(|name| name == "m30")));
    assert!((3_000..6_000).contains(&took), "{took} ms");
    for name in &names {
        assert!(lab.net.dials(name).len() <= 20, "one schedule for each");
    }
    assert_eq!(lab.pool().in_flight(), 0);
}

/// A client that is gone takes its tasks and its connections with it.
#[tokio::test(start_paused = true)]
async fn the_last_clone_takes_everything_with_it() {
    let net = Network::new();
    let _peer = Peer::new([says("a")]).listen(&net, "a");
    let kept = Arc::new(());
    let held = Arc::clone(&kept);
    let updates = tokio_stream::iter([targets(&["a"])]);
    let forever = tokio_stream::StreamExt::chain(updates, tokio_stream::pending());
    let forever = tokio_stream::StreamExt::map(forever, move |list| {
        _ = &held;
        list
    });
    let pool = Pool::builder().insecure().connector(net.dialer()).discover(forever);
    let service = plain().build_pool(pool).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    client.unary("ping").await.unwrap();
    assert_eq!(Arc::strong_count(&kept), 2);
    drop((client, service));
    pass(1).await;
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[tokio::test(start_paused = true)]
async fn services_of_ones_own_are_members_too() {
    let stubs = ["a", "b"].map(|name| Stub::new([says(name)]));
    let members = ["a", "b"].into_iter().zip(stubs.clone());
    let service = plain().breaker(opens_after(1)).build_pool(Pool::of(members)).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    for name in ["a", "b", "a"] {
        assert_eq!(text(client.unary("ping").await.unwrap().into_inner()), name);
    }
    assert_eq!(service.pool().unwrap().members(), ["a", "b"]);
    assert!(service.pool().unwrap().wait_until_ready(Duration::from_secs(1)).await);
    assert_eq!(service.circuit_breaker_states().len(), 2);
    assert!(service.get_ref().is_none());
}

/// Outside a runtime a client can be made; its lookups begin when there is one.
#[test]
fn a_pool_is_made_without_a_runtime() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    let (net, sender) = runtime.block_on(async {
        let net = Network::new();
        let _peer = Peer::new([says("a")]).listen(&net, "a");
        (net, watch::channel(targets(&["a"])).0)
    });
    let pool = pool_of(&net, &[]).watch(sender.subscribe());
    let service = plain().build_pool(pool).unwrap();
    runtime.block_on(async {
        let mut client = RawClient::of(ECHO, service);
        assert_eq!(text(client.unary("ping").await.unwrap().into_inner()), "a");
    });
}
