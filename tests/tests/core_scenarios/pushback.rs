//! What a peer may ask for along with a failure: G14 to G21.

use core::time::Duration;

use evenkeel_core::{Because, Code, Outcome, Pushback, StopReason};

use crate::driver::{Client, OK, U, at_once};
use crate::policies::{calls, calls_within, code, millis, ms, retries};

/// gRPC's pushback: exactly this long.
fn pushback(millis: u64) -> Outcome {
    U.with_pushback(Pushback::Exactly(ms(millis)))
}

#[test]
fn g14_a_pushback_is_waited_for_exactly_and_starts_the_backoff_over() {
    let mut client = Client::new(calls(5, 100).with_retry(evenkeel_core::RetryPolicy::DEFAULT));
    let run = client.call(&[at_once(pushback(120)), at_once(OK)]);
    assert_eq!(run.starts(), [0, 120], "no jitter on it, although the policy has some");
    assert_eq!(run.retries[0].because, Because::Pushback);

    let script = [U, U, pushback(120), U, OK].map(at_once);
    let run = Client::new(calls(5, 100)).call(&script);
    assert_eq!(run.waits(), [100, 200, 120, 100]);
}

#[test]
fn g15_a_pushback_of_zero_retries_at_once() {
    let run = Client::new(calls(3, 100)).call(&[at_once(pushback(0)), at_once(OK)]);
    assert_eq!(run.end(), (StopReason::Succeeded, 2, 0));
}

#[test]
fn g18_a_pushback_makes_no_code_retryable() {
    let asks = code(Code::NotFound).with_pushback(Pushback::Exactly(ms(10)));
    let run = Client::new(calls(3, 100)).call(&[at_once(asks)]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 1, 0));
}

#[test]
fn g19_a_pushback_gives_no_attempt_more() {
    let run = Client::new(calls(2, 100)).call(&[at_once(pushback(10))]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 2, 10));
}

#[test]
fn g21_a_pushback_past_the_deadline_is_not_begun() {
    let run = Client::new(calls_within(2_000, 3, 100)).call(&[at_once(pushback(2_000))]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 1, 0));
    assert_eq!(run.last, Some(Code::Unavailable));
}

#[test]
fn a_peer_that_says_stop_is_not_tried_again() {
    let stop = U.with_pushback(Pushback::Stop);
    let run = Client::new(calls(3, 100)).call(&[at_once(stop), at_once(OK)]);
    assert_eq!(run.end(), (StopReason::PushedBack, 1, 0));
}

#[test]
fn a_wish_beyond_the_ceiling_ends_the_call_and_says_how_long_it_was() {
    let retry = retries(3, 100).with_max_hint(millis(500)).unwrap();
    let mut client = Client::new(calls(3, 100).with_retry(retry));
    assert_eq!(client.call(&[at_once(pushback(500)), at_once(OK)]).starts(), [0, 500]);
    let run = client.call(&[at_once(pushback(501)), at_once(OK)]);
    assert_eq!(run.end(), (StopReason::HintTooLong { hint: ms(501) }, 1, 0));
}

/// `Retry-After` and `RetryInfo` are floors: the longer of the wish and the backoff is waited.
#[test]
fn a_retry_after_is_a_floor_and_the_backoff_grows_on() {
    let asks = |millis| U.with_retry_after(Duration::from_millis(millis));
    let script = [asks(150), asks(50), asks(0), OK].map(at_once);
    let run = Client::new(calls(4, 100)).call(&script);
    assert_eq!(run.waits(), [150, 200, 400]);
    let because: Vec<Because> = run.retries.iter().map(|retry| retry.because).collect();
    assert_eq!(because, [Because::Hint, Because::Backoff, Because::Backoff]);
}

/// A wish that is met anyway is not why the wait is as long as it is.
#[test]
fn a_retry_after_as_long_as_the_backoff_is_no_reason() {
    let wishes = |millis| U.with_pushback(Pushback::AtLeast(ms(millis)));
    for (wish, because) in [(99, Because::Backoff), (100, Because::Backoff), (101, Because::Hint)] {
        let run = Client::new(calls(3, 100)).call(&[at_once(wishes(wish)), at_once(OK)]);
        assert_eq!(run.retries[0].because, because, "{wish} ms");
    }
}
