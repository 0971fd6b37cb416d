//! How far a request got decides whether it is safe to repeat: G30 to G36.

use evenkeel_core::{
    Because, BreakerState, CallPolicy, Code, Outcome, RetryPolicy, Sent, StopReason,
};

use crate::driver::{Client, OK, U, at_once};
use crate::policies::{calls, opens_after};

const REFUSED: Outcome = Outcome::unavailable().with_sent(Sent::Refused);
const NEVER: Outcome = Outcome::unavailable().with_sent(Sent::Never);

fn no_retries() -> CallPolicy {
    CallPolicy::DEFAULT.with_retry(RetryPolicy::OFF.not_idempotent())
}

#[test]
fn g30_what_the_peer_refused_unseen_is_repeated_once_without_a_policy() {
    let mut client = Client::new(no_retries()).with_breaker(opens_after(1));
    let run = client.call(&[at_once(REFUSED), at_once(OK)]);
    assert_eq!(run.end(), (StopReason::Succeeded, 2, 0));
    assert_eq!(run.counted, 1);
    assert_eq!(run.retries[0].because, Because::Transparent);
    assert!(client.breaker().is_clean(), "a repetition is no failure");
}

#[test]
fn g31_a_peer_that_always_refuses_is_asked_twice() {
    let run = Client::new(no_retries()).call(&[at_once(REFUSED)]);
    assert_eq!((run.sent(), run.counted, run.last), (2, 1, Some(Code::Unavailable)));
    assert_ne!(run.reason, StopReason::Succeeded);
}

#[test]
fn g35_what_was_never_sent_is_repeated_for_any_method() {
    let run = Client::new(no_retries()).call(&[NEVER, NEVER, NEVER, OK].map(at_once));
    assert_eq!((run.sent(), run.counted, run.reason), (4, 1, StopReason::Succeeded));
}

#[test]
fn never_sent_four_times_in_a_row_is_an_ordinary_failure() {
    let mut client = Client::new(no_retries()).with_breaker(opens_after(5));
    let run = client.call(&[at_once(NEVER)]);
    assert_eq!((run.sent(), run.counted), (4, 1));
    assert_eq!(client.breaker().snapshot().failures, 1);

    // From there on the retry policy paces it, whatever the method.
    let retry = calls(3, 100).retry().not_idempotent();
    let run = Client::new(calls(3, 100).with_retry(retry)).call(&[at_once(NEVER)]);
    assert_eq!(run.starts(), [0, 0, 0, 0, 100, 300]);
    assert_eq!(run.counted, 3);
}

#[test]
fn g36_a_dead_server_fails_every_attempt_and_each_one_counts() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(5));
    let run = client.call(&[at_once(Outcome::not_connected())]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 3, 300));
    let shown = client.breaker().snapshot();
    assert_eq!((shown.state, shown.failures), (BreakerState::Closed, 3));

    let mut client = Client::new(no_retries());
    let run = client.call(&[at_once(Outcome::not_connected())]);
    assert_eq!((run.sent(), run.last), (1, Some(Code::Unavailable)));
}

/// Nothing was executed, so that even a method outside the allow-list is tried again, but paced.
#[test]
fn a_failed_dial_is_retried_for_any_method_at_the_policys_pace() {
    let retry = calls(3, 100).retry().not_idempotent();
    let mut client = Client::new(calls(3, 100).with_retry(retry));
    let run = client.call(&[Outcome::not_connected(), OK].map(at_once));
    assert_eq!(run.starts(), [0, 100]);
    let run = client.call(&[Outcome::not_connected(), U].map(at_once));
    assert_eq!((run.sent(), run.reason), (2, StopReason::NotIdempotent));
}
