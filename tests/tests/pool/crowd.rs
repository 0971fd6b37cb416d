//! Many clients, many callers, members that die and come back, lists that change at every moment,
//! callers that go away at every place where a call can wait.

use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{BreakerState, OutlierPolicy, Strategy};
use evenkeel_tests::{RawClient, Reply, Stub, drain, drop_at_every_poll};
use evenkeel_tonic::target::TargetName;
use evenkeel_tonic::{Pool, Resilient};
use tonic::Status;
use tonic::body::Body;
use tonic::client::GrpcService;

use crate::lab::{
    CHARGE, ECHO, EXPORT, Lab, busy, opens_after, pass, plain, retrying, says, spread, text,
};

/// A client for each request is how services are written.
#[tokio::test(start_paused = true)]
async fn request_scoped_clients_share_two_connections() {
    let lab = Lab::new(&["a", "b"], plain().breaker(opens_after(5)));
    let answers = request_scoped(&lab.service, 1_000).await;
    assert_eq!(answers, "ab".repeat(500), "a true rotation");
    for name in ["a", "b"] {
        assert_eq!((lab.peer(name).connections(), lab.net.dials(name).len()), (1, 1));
    }
    assert_eq!(lab.pool().in_flight(), 0);
}

/// The same without a network, where ten thousand take no time.
#[tokio::test(start_paused = true)]
async fn ten_thousand_request_scoped_clients_cost_one_breaker_for_each_member() {
    let stubs = ["a", "b"].map(|name| (name, Stub::canned(says(name))));
    let builder = plain().breaker(opens_after(5));
    let service = builder.build_pool(Pool::of(stubs)).unwrap();
    let answers = request_scoped(&service, 10_000).await;
    assert_eq!(answers, "ab".repeat(5_000), "a true rotation");
    let states = service.circuit_breaker_states();
    let breakers: Vec<usize> = states.values().map(|methods| methods.len()).collect();
    assert_eq!(breakers, [1, 1]);
    let pool = service.pool().unwrap();
    assert_eq!((pool.in_flight(), pool.members().len()), (0, 2));
}

/// What so many clients are answered, each of which lives for one call.
async fn request_scoped<S>(service: &Resilient<S>, clients: usize) -> String
where
    Resilient<S>: GrpcService<Body, ResponseBody = Body> + Clone,
{
    let (mut answers, mut forgotten) = (String::new(), Vec::new());
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut after_the_first = 0;
    for turn in 0..clients {
        if turn == 100 {
            after_the_first = tasks();
        }
        let mut client = RawClient::of(ECHO, service.clone());
        answers.push_str(&text(client.unary("ping").await.unwrap().into_inner()));
        // Some of them are forgotten somewhere.
        if turn % 100 == 0 {
            forgotten.push(client);
        }
    }
    assert_eq!(tasks(), after_the_first, "nobody is left running");
    answers
}

/// Names that are in no table, ever new ones: the table of breakers stays bounded.
#[tokio::test(start_paused = true)]
async fn any_number_of_method_names_cost_a_bounded_number_of_breakers() {
    let builder = Resilient::builder().breaker(opens_after(5));
    let lab = Lab::new(&["a", "b"], builder.max_methods(10).unwrap());
    for turn in 0..500 {
        let path: &'static str = Box::leak(format!("/lab.v1.Lab/M{turn}").into_boxed_str());
        assert!(lab.call_of(path).await.is_ok());
    }
    let states = lab.service.circuit_breaker_states();
    let breakers: usize = states.values().map(|methods| methods.len()).sum();
    assert!(breakers <= 10, "{breakers}");
}

#[tokio::test(start_paused = true)]
async fn fifty_callers_do_not_notice_members_that_die_and_come_back() {
    for strategy in [Strategy::RoundRobin, Strategy::LeastRequest, Strategy::Random] {
        let mut lab =
            Lab::tuned(&["a", "b", "c", "d"], retrying(4), |pool| pool.strategy(strategy));
        for name in ["a", "b", "c", "d"] {
            lab.serve_with(name, [says(name).after(Duration::from_millis(7))]);
        }
        lab.warm_up().await;
        let callers = (0..50u64).map(|caller| {
            let lab = &lab;
            async move {
                let mut answers = String::new();
                pass(caller % 10).await;
                for _ in 0..50 {
                    answers.push_str(lab.call().await.as_deref().unwrap_or("!"));
                    pass(100).await;
                }
                answers
            }
        });
        let deaths = async {
            for name in ["a", "b", "a", "c"] {
                pass(700).await;
                lab.kill(name);
                pass(500).await;
                lab.peer(name).clone().listen(&lab.net, name);
            }
        };
        let (answers, ()) = tokio::join!(futures_util::future::join_all(callers), deaths);
        let answers: String = answers.concat();
        assert_eq!(answers.len(), 2_500, "{strategy:?}");
        assert_eq!(answers.matches('!').count(), 0, "{strategy:?}");
        assert_eq!(lab.pool().in_flight(), 0);
        // Everybody is back, and gets an even share.
        pass(20_000).await;
        for _ in 0..3 {
            lab.calls(8).await;
            pass(10_000).await;
        }
        let after = spread(&lab.calls(100).await);
        assert_eq!(after.len(), 4, "{strategy:?}: {after:?}");
    }
}

/// A member that is off and on again, forever: each time for as long as it takes to notice.
#[tokio::test(start_paused = true)]
async fn half_a_day_of_a_flapping_member_leaves_nothing_behind() {
    let lab = Lab::new(&["a", "b"], retrying(3).breaker(opens_after(5)));
    let half_a_day = async {
        for turn in 0..240u64 {
            lab.kill("a");
            pass(60_000 + turn * 14).await;
            lab.peer("a").clone().listen(&lab.net, "a");
            pass(120_000 - turn * 14).await;
        }
    };
    let calls = async {
        let mut failed = 0;
        for _ in 0..1_440 {
            failed += usize::from(lab.call().await.is_err());
            pass(30_000).await;
        }
        failed
    };
    let ((), failed) = tokio::join!(half_a_day, calls);
    assert_eq!(failed, 0);
    assert_eq!(lab.pool().in_flight(), 0);
    // No dead loop: at most a dial for each call that passed it over, and one for each outage.
    let dials = lab.net.dials("a").len();
    assert!(dials <= 240 * 20, "{dials}");
    assert!(lab.peer("a").connections() <= 2 * 240);
}

/// The list changes while a call waits, at each place where it can.
#[tokio::test(start_paused = true)]
async fn the_list_may_change_at_every_poll() {
    let lists: [Vec<TargetName>; 3] = [vec!["a:1"], vec!["b:1", "a:1"], vec!["c:1"]]
        .map(|list| list.into_iter().map(|name| name.parse().unwrap()).collect());
    for method in [ECHO, CHARGE] {
        let mut lab = Lab::new(&["a", "b", "c"], retrying(4).breaker(opens_after(50)));
        for name in ["a", "b", "c"] {
            lab.serve_with(name, [busy(), says(name).after(Duration::from_millis(1))]);
        }
        for turn in 0..200 {
            let mut polled = turn;
            let mut call = core::pin::pin!(lab.call_of(method));
            let answer = core::future::poll_fn(|cx| {
                lab.pool().set_targets(lists[polled % 3].clone());
                polled += 1;
                call.as_mut().poll(cx)
            });
            let answer = answer.await;
            if method == ECHO {
                answer.unwrap();
            }
            assert_eq!(lab.pool().in_flight(), 0);
        }
    }
}

/// A caller goes away: counts, trials and places in line come back at once.
#[tokio::test(start_paused = true)]
async fn a_caller_may_go_away_at_every_poll() {
    let breaker = opens_after(1).with_open_for(Duration::ZERO).unwrap();
    let off = |pool: evenkeel_tonic::PoolBuilder| pool.outliers(OutlierPolicy::OFF);
    let mut lab = Lab::tuned(&["a", "b"], retrying(3).breaker(breaker), off);
    let nothing_left = async |lab: &Lab| {
        assert_eq!(lab.pool().in_flight(), 0);
        for methods in lab.service.circuit_breaker_states().values() {
            assert!(methods.values().all(|shown| shown.trials == 0), "{methods:?}");
        }
    };
    // Unary, its first attempts failed.
    for name in ["a", "b"] {
        lab.serve_by(name, move |seen| {
            let first = seen.header("grpc-previous-rpc-attempts").is_none();
            if first { busy() } else { says(name) }
        });
    }
    let polls = drop_at_every_poll(|| lab.call(), async |_| nothing_left(&lab).await);
    assert!(polls.await >= 2);
    // A stream.
    for name in ["a", "b"] {
        lab.serve_with(name, [Reply::headers().message("1").message("2").end(Status::ok(""))]);
    }
    let stream = || async {
        let mut client = RawClient::of(EXPORT, lab.service.clone());
        drain(client.server_streaming("all").await.unwrap().into_inner()).await
    };
    let polls = drop_at_every_poll(stream, async |_| nothing_left(&lab).await);
    assert!(polls.await >= 2);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_may_go_away_at_every_poll() {
    let builder = || plain().wait_for_ready(true).breaker(opens_after(5));
    let lab = Lab::new(&["a", "b"], builder());
    ["a", "b"].iter().for_each(|name| lab.kill(name));
    let peer = lab.peer("b").clone();
    lab.net.after(Duration::from_secs(2), move |net| drop(peer.listen(net, "b")));
    let polls = drop_at_every_poll(
        || lab.call(),
        async |_| {
            assert_eq!(lab.pool().in_flight(), 0);
            pass(100).await;
        },
    );
    assert!(polls.await >= 2);
    for name in ["a", "b"] {
        let shown = lab.service.circuit_breaker_states();
        let shown = shown.get(&format!("{name}:1")).and_then(|methods| methods.get(ECHO));
        assert!(shown.is_none_or(|shown| shown.state == BreakerState::Closed));
    }

    let nobody = Lab::tuned(&["a"], builder(), |pool| pool.health_checked());
    let kept = Arc::new(());
    let polls = drop_at_every_poll(
        || async {
            let _kept = Arc::clone(&kept);
            nobody.call().await
        },
        async |polled| {
            assert_eq!((nobody.pool().in_flight(), Arc::strong_count(&kept)), (0, 1));
            if polled == 1 {
                nobody.pool().set_healthy("a:1", true);
            }
        },
    );
    assert!(polls.await >= 2);
}

/// Threads, and real time, but nothing is measured: a pool under all that can happen to it at once.
#[test]
fn threads_call_while_the_list_changes_and_the_pool_is_closed() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(4).enable_all().build().unwrap().block_on(async {
        let stubs = ["a", "b", "c"].map(|name| (name, Stub::new([says(name)])));
        let pool = Pool::of(stubs);
        let service = retrying(2).breaker(opens_after(5)).build_pool(pool).unwrap();
        let calls = (0..8).map(|_| {
            let service = service.clone();
            tokio::spawn(async move {
                let mut answered = 0;
                for _ in 0..2_000 {
                    let mut client = RawClient::of(ECHO, service.clone());
                    answered += usize::from(client.unary("ping").await.is_ok());
                }
                answered
            })
        });
        let calls: Vec<_> = calls.collect();
        for turn in 0..1_000 {
            service.pool().unwrap().set_healthy("a", turn % 2 == 0);
            tokio::task::yield_now().await;
        }
        let mut answered = 0;
        for call in calls {
            answered += call.await.unwrap();
        }
        assert_eq!(answered, 16_000);
        let pool = service.pool().unwrap();
        assert!(pool.close(Duration::from_secs(60)).await);
        assert_eq!(pool.in_flight(), 0);
    });
}
