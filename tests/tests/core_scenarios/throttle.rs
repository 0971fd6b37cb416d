//! The tokens that bound retries over all calls of an upstream: G23 to G29.

use evenkeel_core::{
    BreakerTable, Call, Code, Keyed, Pushback, Sent, StopReason, Throttle, ThrottlePolicy,
};

use crate::driver::{Client, OK, U, at_once, drive};
use crate::policies::{calls, code, opens_after};

/// Ten tokens, a tenth of one per success.
fn a6() -> ThrottlePolicy {
    ThrottlePolicy::grpc(10, 100).unwrap()
}

#[test]
fn g23_retries_stop_at_half_the_tokens() {
    let mut client = Client::new(calls(4, 100)).with_throttle(a6());
    let run = client.call(&[at_once(U)]);
    assert_eq!((run.sent(), run.reason), (4, StopReason::AttemptsUsedUp));
    assert_eq!(client.millitokens(), 6_000);

    let run = client.call(&[at_once(U)]);
    assert_eq!(run.end(), (StopReason::Throttled, 1, 0));
    assert_eq!(client.millitokens(), 5_000);
}

#[test]
fn g25_successes_never_fill_it_above_the_brim() {
    let mut client = Client::new(calls(4, 100)).with_throttle(a6());
    for _ in 0..1_000 {
        client.call(&[at_once(OK)]);
    }
    assert_eq!(client.millitokens(), 10_000);
}

#[test]
fn g26_only_retryable_failures_and_successes_move_it() {
    let mut client = Client::new(calls(1, 100)).with_throttle(a6());
    client.call(&[at_once(U)]);
    assert_eq!(client.millitokens(), 9_000);
    client.call(&[at_once(code(Code::NotFound))]);
    assert_eq!(client.millitokens(), 9_000);
    client.call(&[at_once(OK)]);
    assert_eq!(client.millitokens(), 9_100);
    // "Do not retry" costs a token whatever the code is.
    client.call(&[at_once(code(Code::NotFound).with_pushback(Pushback::Stop))]);
    assert_eq!(client.millitokens(), 8_100);
}

#[test]
fn g27_the_methods_of_an_upstream_share_one_count_and_upstreams_do_not() {
    let (policy, breaker) = (calls(4, 100), opens_after(100));
    let mut breakers = BreakerTable::<&str, 4>::new();
    let (mut ours, mut theirs) = (Throttle::full(&a6()), Throttle::full(&a6()));
    let mut now = evenkeel_core::Instant::from_micros(1);
    let mut call = |method, throttle: &mut Throttle| {
        let a6 = a6();
        let upstream = Keyed::new(method, &policy, &mut breakers, &breaker);
        let deadline = policy.deadline(now, Default::default());
        let mut upstream = upstream.with_throttle(throttle, &a6);
        drive(&mut now, &mut upstream, Call::new(deadline, 1), &[at_once(U)]).sent()
    };
    assert_eq!(call("Get", &mut ours), 4);
    assert_eq!(call("List", &mut ours), 1, "the first method used the tokens up");
    assert_eq!(call("List", &mut theirs), 4, "another upstream has its own");
}

#[test]
fn g29_transparent_repetitions_cost_nothing() {
    let mut client = Client::new(calls(4, 100)).with_throttle(a6());
    let refused = U.with_sent(Sent::Refused);
    let run = client.call(&[at_once(refused), at_once(U), at_once(OK)]);
    assert_eq!((run.sent(), run.counted), (3, 2));
    assert_eq!(client.millitokens(), 9_100, "one failure and one success");
}

/// The other kind pays for each retry it grants, and is earned back by successes.
#[test]
fn the_success_refilled_kind_grants_what_it_has() {
    let mut client = Client::new(calls(3, 100)).with_throttle(ThrottlePolicy::SUCCESS_REFILLED);
    let sent: Vec<usize> = (0..7).map(|_| client.call(&[at_once(U)]).sent()).collect();
    assert_eq!(sent, [3, 3, 3, 3, 3, 1, 1], "ten retries, and then none");
    for _ in 0..10 {
        client.call(&[at_once(OK)]);
    }
    assert_eq!(client.call(&[at_once(U)]).sent(), 2, "ten successes earn one");
}
