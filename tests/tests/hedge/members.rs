//! Where the attempts of one call go.

use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen};
use evenkeel_tonic::Pool;

use crate::lab::{ECHO, cancelled_at, hedging, is_hedge, millis, ok, opens_after, pass, pool};

fn only_hedges_answer(seen: &Seen) -> Reply {
    if is_hedge(seen) { ok() } else { Reply::hang() }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_goes_to_another_member() {
    let last_answers = |seen: &Seen| match seen.header("grpc-previous-rpc-attempts") {
        Some("2") => ok(),
        _ => Reply::hang(),
    };
    let builder = hedging(20, 3).breaker(opens_after(1));
    let (service, peers, _net) = pool(builder, &["a", "b", "c"], last_answers);
    RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap();
    pass(1).await;
    assert!(peers.iter().all(|peer| peer.count() == 1), "three attempts at three members");
    let cancelled = peers.iter().filter_map(|peer| cancelled_at(&peer.requests()[0]));
    assert_eq!(cancelled.collect::<Vec<_>>(), [40, 40]);
    let states = service.circuit_breaker_states();
    assert!(states.values().all(|methods| methods[ECHO].failures == 0), "{states:?}");
}

/// A member whose machine is gone costs the call nothing but a moment.
#[tokio::test(start_paused = true)]
async fn a_dial_that_is_refused_is_followed_by_another_member_at_once() {
    let (service, peers, net) = pool(hedging(20, 2), &["a", "b"], |_| ok());
    drop(net.listen("a"));
    for _ in 0..4 {
        RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap();
    }
    assert_eq!((peers[0].count(), peers[1].count()), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn the_only_member_is_tried_again() {
    let (service, peers, _net) = pool(hedging(20, 2), &["a"], only_hedges_answer);
    RawClient::of(ECHO, service).unary("ping").await.unwrap();
    assert_eq!(peers[0].count(), 2);
}

/// Nobody is there at first: the call waits, is hedged while it waits, and is answered.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_connection_it_takes_the_first_there_is() {
    let net = Network::new();
    let targets = ["a:1", "b:1"];
    let members = Pool::builder().insecure().connector(net.dialer());
    let builder = hedging(20, 2).wait_for_ready(true);
    let service = builder.build_pool(members.targets(targets).unwrap()).unwrap();
    net.after(millis(300), |net| {
        let _ = Peer::new([ok()]).listen(net, "b");
    });
    let answer = RawClient::of(ECHO, service).unary("ping").await.unwrap();
    assert_eq!(answer.into_inner(), "pong");
}

/// Two members of one call are told apart, though one was removed before the other came.
#[tokio::test(start_paused = true)]
async fn a_member_that_was_replaced_under_a_call_leaves_the_hedge_to_the_new_one() {
    let builder = hedging(20, 2).breaker(opens_after(5));
    let (service, peers, net) = pool(builder, &["a"], |_| Reply::hang());
    let new = Peer::new([ok()]).listen(&net, "b");
    let replacing = async {
        pass(10).await;
        service.pool().unwrap().set_targets(["b:1".parse().unwrap()]);
    };
    let mut client = RawClient::of(ECHO, service.clone());
    let (answer, ()) = tokio::join!(client.unary("ping"), replacing);
    assert_eq!(answer.unwrap().into_inner(), "pong");
    assert_eq!((peers[0].count(), new.count()), (1, 1));
    let states = service.circuit_breaker_states();
    assert!(states.values().all(|methods| methods[ECHO].failures == 0), "{states:?}");
}

/// A pool that is closed under a call ends it.
#[tokio::test(start_paused = true)]
async fn closing_the_pool_ends_hedged_calls_too() {
    let (service, _peers, _net) = pool(hedging(20, 2), &["a", "b"], |_| Reply::hang());
    let closing = async {
        pass(50).await;
        service.pool().unwrap().close(millis(100)).await;
    };
    let mut client = RawClient::of(ECHO, service.clone());
    let (answer, ()) = tokio::join!(client.unary("ping"), closing);
    assert!(answer.is_err());
}
