//! Incidents of retry throttles: F62 to F68. What happened is in `docs/incidents.md`.

use evenkeel_core::{Call, Pushback, StopReason, Throttle, ThrottlePolicy};

use crate::driver::{Client, OK, U, after, at_once, drive};
use crate::policies::{calls, millis, ms, opens_after};
use crate::pool::Pool;

fn both_kinds() -> [ThrottlePolicy; 2] {
    [ThrottlePolicy::grpc(10, 100).unwrap(), ThrottlePolicy::success_refilled(10, 100).unwrap()]
}

#[test]
fn f62_an_empty_throttle_fills_again_whatever_its_kind() {
    for kind in both_kinds() {
        let mut client = Client::new(calls(3, 100)).with_throttle(kind);
        let mut fails = (0..100).map(|_| client.call(&[at_once(U)]).reason);
        assert!(fails.any(|reason| reason == StopReason::Throttled), "it never runs dry");
        for _ in 0..1_000 {
            client.call(&[at_once(OK)]);
        }
        assert_eq!(client.call(&[at_once(U), at_once(OK)]).sent(), 2, "{kind:?}");
    }
}

#[test]
fn f64_a_day_of_successes_is_worth_no_more_than_a_full_bucket() {
    let mut client = Client::new(calls(2, 100)).with_throttle(both_kinds()[0]);
    for _ in 0..100_000 {
        client.call(&[at_once(OK)]);
    }
    // Failures 1 to 4 may be retried, the fifth leaves five tokens of ten.
    let mut fail = || client.call(&[at_once(U)]);
    assert_eq!([fail().sent(), fail().sent()], [2, 2]);
    assert_eq!(fail().reason, StopReason::Throttled);
}

#[test]
fn f64_a_thousand_failures_leave_zero_and_not_less() {
    let mut client = Client::new(calls(2, 100)).with_throttle(both_kinds()[0]);
    for _ in 0..1_000 {
        client.call(&[at_once(U)]);
    }
    assert_eq!(client.millitokens(), 0);
    let mut recover = |successes| {
        for _ in 0..successes {
            client.call(&[at_once(OK)]);
        }
        client.call(&[at_once(U), at_once(OK)]).sent()
    };
    assert_eq!(recover(60), 1, "6.0 − 1 is half, and half is not above half");
    // That failure cost a token: 5.0 + 1.1 − 1 = 5.1.
    assert_eq!(recover(11), 2);
}

/// The core's half of F65: sixteen callers that withdraw in turn are granted what there is.
#[test]
fn f65_a_thousand_tokens_are_a_thousand_retries() {
    let policy = ThrottlePolicy::success_refilled(1_000, 1).unwrap();
    let mut throttle = Throttle::full(&policy);
    let granted = (0..160_000).filter(|_| throttle.allow(&policy)).count();
    assert_eq!(granted, 1_000);
}

/// There is no rate here and no waiting for a token; but a retry that waits long pays like any other.
#[test]
fn f67_a_long_hint_pays_for_its_retry() {
    let one = ThrottlePolicy::success_refilled(1, 1).unwrap();
    let mut client = Client::new(calls(3, 100)).with_throttle(one);
    let busy = || at_once(U.with_pushback(Pushback::Exactly(ms(5_000))));
    let run = client.call(&[busy(), busy()]);
    assert_eq!(run.end(), (StopReason::Throttled, 2, 5_000));
    assert_eq!(client.millitokens(), 0);
    assert_eq!(client.call(&[busy()]).end(), (StopReason::Throttled, 1, 0));
}

#[test]
fn f68_an_empty_throttle_suppresses_the_hedge_and_not_the_call() {
    let policy = calls(3, 100).with_hedge_after(millis(20)).unwrap();
    let mut pool = Pool::of(2, policy, opens_after(5));
    let empty = ThrottlePolicy::success_refilled(1, 1).unwrap();
    let mut throttle = Throttle::full(&empty);
    assert!(throttle.allow(&empty));
    pool.throttle = Some((throttle, empty));

    let mut now = evenkeel_core::Instant::from_micros(1);
    let deadline = pool.policy.deadline(now, Default::default());
    let call = Call::<2>::with_room(deadline, 1);
    let run = drive(&mut now, &mut pool, call, &[after(50, OK)]);
    assert_eq!(run.end(), (StopReason::Succeeded, 1, 50));
}
