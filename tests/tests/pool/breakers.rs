//! Breakers of members: G76, G27, and what is left when all are open.

use core::time::Duration;

use evenkeel_core::{BreakerState, ThrottlePolicy};
use evenkeel_tonic::core::Clock;
use evenkeel_tonic::{CircuitOpen, cause};
use tonic::Code;

use crate::lab::{CHARGE, ECHO, Lab, busy, code, fails, opens_after, pass, plain, retrying, says};

#[tokio::test(start_paused = true)]
async fn g76_the_circuit_of_one_member_opens_and_is_avoided() {
    let mut lab = Lab::new(&["a", "b", "c"], plain().breaker(opens_after(2)));
    lab.serve_with("b", [fails(Code::Internal)]);
    assert_eq!(lab.calls(6).await, "a!ca!c");
    assert_eq!(lab.circuit("b", ECHO), (BreakerState::Open, 2));
    assert_eq!(lab.calls(4).await, "acac");
    assert_eq!(lab.count("b"), 2);
    for name in ["a", "c"] {
        assert_eq!(lab.circuit(name, ECHO), (BreakerState::Closed, 0));
    }
    // After its time it gets its trial, and closes.
    lab.serve("b");
    pass(60_000).await;
    assert_eq!(lab.calls(3).await, "abc");
    assert_eq!(lab.circuit("b", ECHO), (BreakerState::Closed, 0));
}

/// What nobody called for an hour is forgotten, and its failures with it; but never a method of the
/// table, whose breaker its member keeps.
#[tokio::test(start_paused = true)]
async fn an_idle_circuit_begins_anew() {
    let of_no_table = evenkeel_tonic::Resilient::builder;
    for (builder, minutes, failures) in
        [(of_no_table(), 59, 2), (of_no_table(), 60, 1), (plain(), 60 * 24, 2)]
    {
        let mut lab = Lab::new(&["a"], builder.breaker(opens_after(3)));
        lab.serve_with("a", [fails(Code::Internal)]);
        assert_eq!(lab.calls(1).await, "!");
        pass(minutes * 60_000).await;
        assert_eq!(lab.calls(1).await, "!");
        assert_eq!(lab.circuit("a", ECHO), (BreakerState::Closed, failures));
    }
}

/// One method's failures are nothing to another.
#[tokio::test(start_paused = true)]
async fn g76_circuits_are_of_a_member_and_a_method() {
    let mut lab = Lab::new(&["a", "b"], plain().breaker(opens_after(1)));
    lab.serve_with("a", [fails(Code::Internal), says("a")]);
    assert_eq!(lab.calls(3).await, "!bb");
    assert_eq!(lab.calls_of(CHARGE, 2).await, "ab");
    let states = lab.service.circuit_breaker_states();
    assert_eq!(states.keys().collect::<Vec<_>>(), ["a:1", "b:1"]);
    assert_eq!(states["a:1"].keys().collect::<Vec<_>>(), [CHARGE, ECHO]);
}

#[tokio::test(start_paused = true)]
async fn g76_when_all_are_open_the_call_is_refused_and_told_whose_is_over_first() {
    let mut lab = Lab::new(&["a", "b"], plain().breaker(opens_after(1)));
    lab.serve_with("a", [fails(Code::Internal), says("a")]);
    lab.serve_with("b", [fails(Code::Internal), says("b")]);
    assert_eq!(lab.calls(1).await, "!");
    let opened = evenkeel_tokio::TokioClock.now();
    pass(1_000).await;
    assert_eq!(lab.calls(1).await, "!");
    let refused = lab.call().await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    let open = cause::<CircuitOpen>(&refused).unwrap();
    assert_eq!((&*open.key.target, &*open.key.method, open.attempts), ("a:1", ECHO, 0));
    assert_eq!(open.retry_at.since(opened).as_duration(), Duration::from_secs(60));
    assert_eq!((lab.count("a"), lab.count("b")), (1, 1));
    // a's time is over first.
    pass(59_000).await;
    assert_eq!(lab.calls(2).await, "aa");
    pass(1_000).await;
    assert_eq!(lab.calls(2).await, "ba");
}

/// A call whose first attempt opened one circuit goes on at another member.
#[tokio::test(start_paused = true)]
async fn g76_a_retry_passes_open_circuits_over() {
    let mut lab = Lab::new(&["a", "b", "c"], retrying(3).breaker(opens_after(1)));
    lab.serve_with("a", [busy(), says("a")]);
    lab.serve_with("b", [busy(), says("b")]);
    assert_eq!(lab.calls(1).await, "c");
    assert_eq!(lab.calls(3).await, "ccc");
    assert_eq!([lab.count("a"), lab.count("b")], [1, 1]);
}

/// A member in doubt is better than a refusal.
#[tokio::test(start_paused = true)]
async fn g76_a_quarantined_member_is_asked_when_the_others_are_open() {
    let mut lab = Lab::new(&["a", "b"], plain().breaker(opens_after(2)));
    lab.serve_with("a", [fails(Code::Internal)]);
    assert_eq!(lab.calls(4).await, "!b!b");
    lab.serve_with("b", [busy(), says("b")]);
    // The first takes b out, but with a's circuit open there is nobody else.
    assert_eq!(lab.calls(3).await, "!bb");
}

#[tokio::test(start_paused = true)]
async fn g27_methods_and_members_share_a_throttle_and_upstreams_do_not() {
    let throttle = ThrottlePolicy::grpc(10, 100).unwrap();
    let mut lab = Lab::new(&["a", "b"], retrying(4).throttle(throttle));
    let other = Lab::new(&["a", "b"], retrying(4).throttle(throttle));
    for name in ["a", "b"] {
        lab.serve_with(name, [busy()]);
    }
    let requests = |lab: &Lab| lab.count("a") + lab.count("b");
    assert_eq!(code(&lab.call().await), Code::Unavailable);
    assert_eq!((requests(&lab), lab.service.throttle_millitokens()), (4, Some(6_000)));
    // Another method, another member: the same tokens.
    assert_eq!(code(&lab.call_of(CHARGE).await), Code::Unavailable);
    assert_eq!((requests(&lab), lab.service.throttle_millitokens()), (5, Some(5_000)));
    assert_eq!(code(&lab.call().await), Code::Unavailable);
    assert_eq!(requests(&lab), 6);
    assert_eq!(other.service.throttle_millitokens(), Some(10_000));
}

/// The names of a closed set keep their breakers; a member that leaves gives its own back.
#[tokio::test(start_paused = true)]
async fn breakers_of_members_that_are_gone_can_be_forgotten() {
    let builder = plain().breaker(opens_after(5)).max_methods(12).unwrap();
    let lab = Lab::new(&["a", "b"], builder);
    assert_eq!(lab.calls(2).await, "ab");
    for turn in 0..100 {
        let name = format!("m{turn}");
        let peer = evenkeel_tests::Peer::new([says("x")]).listen(&lab.net, &name);
        lab.pool().set_targets([format!("{name}:1").parse().unwrap()]);
        assert_eq!(lab.calls(1).await, "x");
        assert_eq!(peer.count(), 1);
    }
    assert!(lab.service.circuit_breaker_states().len() <= 12);
}
