//! Incidents of deadlines against waits, attempts and hints: F25 to F36, F42 to F49, and F104.

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Code, Deadline, Micros, Outcome, RetryPolicy, StopReason,
    ThrottlePolicy,
};

use crate::driver::{Client, HANG, OK, U, after, at_once};
use crate::policies::{also, calls, calls_within, millis, ms, retries};

/// A failure whose peer asks to be left alone for so many seconds.
fn asks_for(seconds: u64) -> Outcome {
    U.with_retry_after(Duration::from_secs(seconds))
}

#[test]
fn f25_the_last_attempt_starts_within_the_total_and_no_wait_follows_it() {
    let backoff = Backoff::new(millis(500), millis(5_000)).unwrap().with_multiplier(1_500).unwrap();
    let retry = retries(u16::MAX, 1).with_backoff(backoff);
    let run = Client::new(calls_within(15_000, 1, 1).with_retry(retry)).call(&[at_once(U)]);
    let last = run.attempts.last().unwrap().at;
    assert!(run.sent() > 5 && last < ms(15_000));
    assert_eq!((run.reason, run.took), (StopReason::DeadlineWouldPass, last));
}

#[test]
fn f26_a_wait_that_cannot_help_is_not_waited() {
    let run = Client::new(calls_within(2_000, 3, 3_000)).call(&[at_once(U)]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 1, 0));
    assert_eq!(run.last, Some(Code::Unavailable));
}

/// The core's half of F27: however many attempts are allowed, the total ends the call.
#[test]
fn f27_unlimited_attempts_end_with_the_total() {
    let run = Client::new(calls_within(5_000, u16::MAX, 100)).call(&[after(30, U)]);
    assert!(run.took <= ms(5_000));
}

#[test]
fn f29_a_throttled_call_ends_when_its_last_attempt_does() {
    let throttle = ThrottlePolicy::grpc(2, 1).unwrap();
    let mut client = Client::new(calls_within(15_000, 3, 100)).with_throttle(throttle);
    client.call(&[at_once(U)]);
    let run = client.call(&[after(4, U)]);
    assert_eq!(run.end(), (StopReason::Throttled, 1, 4));
    assert_eq!(run.last, Some(Code::Unavailable));
}

#[test]
fn f30_a_connector_that_fails_at_once_does_not_spin() {
    let run = Client::new(calls(3, 100)).call(&[at_once(Outcome::not_connected())]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 3, 300));
    assert_eq!(run.last, Some(Code::Unavailable));
}

/// The core's half of F31: an attempt is given the nearer of its own limit and what is left.
#[test]
fn f31_an_attempts_limit_never_replaces_the_callers_deadline() {
    let policy = calls(3, 100).with_attempt_timeout(millis(200)).unwrap();
    for (caller, slice) in [(50, 50), (500, 200)] {
        let mut client = Client::new(policy);
        let caller = Deadline::at(client.now + ms(caller));
        assert_eq!(client.call_until(caller, &[at_once(OK)]).slices(), [(0, slice)]);
    }
}

#[test]
fn f33_a_timeout_is_followed_by_the_backoff_like_any_failure() {
    let retry = retries(3, 1_000).with_codes(also(&[Code::DeadlineExceeded]));
    let policy = calls(3, 1_000).with_attempt_timeout(millis(1_000)).unwrap().with_retry(retry);
    assert_eq!(Client::new(policy).call(&[HANG]).starts(), [0, 2_000, 5_000]);
}

#[test]
fn f35_no_time_left_is_not_no_limit() {
    let mut client = Client::new(calls(3, 100));
    let past = evenkeel_core::Instant::from_micros(client.now.as_micros() - 1);
    for spent in
        [Deadline::after(client.now, Duration::ZERO), Deadline::at(client.now), Deadline::at(past)]
    {
        let run = client.call_until(spent, &[at_once(OK)]);
        assert_eq!(run.end(), (StopReason::DeadlinePassed, 0, 0));
        assert_eq!(run.last, None);
    }
    assert_eq!(client.call_until(Deadline::NONE, &[at_once(OK)]).sent(), 1);
}

#[test]
fn f36_a_hint_longer_than_anything_ends_the_call_and_says_so() {
    let mut client = Client::new(CallPolicy::DEFAULT);
    let run = client.call(&[at_once(asks_for(1_800)), at_once(OK)]);
    let hint = ms(1_800_000);
    assert_eq!(run.end(), (StopReason::HintTooLong { hint }, 1, 0));
    assert!(run.reason.to_string().contains("1800.00s"), "{}", run.reason);
    assert_eq!(client.policy.retry().max_hint(), ms(300_000), "the other number");
}

/// The core's half of F42 and F45: no hint is too large to be understood as one.
#[test]
fn f42_and_f45_an_enormous_hint_never_becomes_a_short_one() {
    let enormous = [9_223_372_036, 9_223_372_037, 9_999_999_999, i64::MAX as u64, u64::MAX];
    for seconds in enormous {
        for policy in [calls(3, 100), calls(3, 100).unbounded()] {
            let run = Client::new(policy).call(&[at_once(asks_for(seconds)), at_once(OK)]);
            assert_eq!((run.sent(), run.took), (1, Micros::ZERO), "{seconds} s");
            assert!(matches!(run.reason, StopReason::HintTooLong { .. }));
        }
    }
}

#[test]
fn f44_a_peer_cannot_keep_the_caller_beyond_its_ceiling() {
    let retry = retries(3, 100).with_max_hint(millis(10_000)).unwrap();
    let policy = calls(3, 100).unbounded().with_retry(retry);
    let run = Client::new(policy).call(&[at_once(asks_for(3_600))]);
    assert_eq!(run.end(), (StopReason::HintTooLong { hint: ms(3_600_000) }, 1, 0));
}

/// The core's half of F49: the peer's own answer is returned, not a timeout of ours.
#[test]
fn f49_a_hint_past_the_deadline_returns_the_answer_at_once() {
    let run = Client::new(calls_within(10_000, 3, 100)).call(&[at_once(asks_for(60))]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 1, 0));
    assert_eq!(run.last, Some(Code::Unavailable));
}

/// The core's half of F104: what is endless saturates to never, or is refused where a number was
/// meant.
#[test]
fn f104_endless_spans_do_not_wrap() {
    let mut client = Client::new(calls(1, 100).unbounded());
    let never = Deadline::after(client.now, Duration::MAX);
    assert!(never.is_none());
    assert_eq!(client.call_until(never, &[after(5, OK)]).slices(), [(0, u64::MAX)]);
    assert!(Backoff::new(millis(1), Duration::MAX).is_err());
    assert!(BreakerPolicy::DEFAULT.with_open_for(Duration::MAX).is_err());
    assert!(RetryPolicy::DEFAULT.with_max_hint(Duration::MAX).is_err());
}
