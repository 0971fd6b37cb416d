//! Incidents of counting attempts and repeating what was done: F20 to F22, and F50.

use evenkeel_core::{CallPolicy, Outcome, RetryPolicy, Sent, StopReason};

use crate::driver::{Client, OK, U, at_once};
use crate::policies::{calls, exact};

#[test]
fn f20_nothing_set_is_a_small_finite_number_of_paced_attempts() {
    let run = Client::new(CallPolicy::default()).call(&[at_once(U)]);
    assert_eq!((run.reason, run.sent()), (StopReason::AttemptsUsedUp, 3));
    assert!(run.retries.iter().all(|retry| !retry.wait.is_zero()));
    let waits: Vec<u64> = run.retries.iter().map(|retry| retry.wait.as_micros()).collect();
    assert_ne!(waits, [100_000, 200_000], "jittered");
}

#[test]
fn f21_zero_is_refused_and_never_the_default() {
    let refused = RetryPolicy::DEFAULT.with_max_attempts(0).unwrap_err();
    assert!(refused.to_string().starts_with("retry.max_attempts = 0: must be 1 or more"));
    assert_eq!(Client::new(calls(1, 100)).call(&[at_once(U)]).sent(), 1);
}

/// There is no second knob that counts retries: `max_attempts` counts the first one too, and so
/// does the number a call reports.
#[test]
fn f22_two_attempts_are_two_requests() {
    let run = Client::new(calls(2, 100)).call(&[at_once(U)]);
    assert_eq!((run.sent(), run.counted, run.retries.len()), (2, 2, 1));
}

/// A write that was applied and whose answer was lost is not written again.
#[test]
fn f50_only_what_was_provably_not_executed_is_repeated() {
    let retry = RetryPolicy::DEFAULT.with_backoff(exact(100)).not_idempotent();
    let sent = |sent| {
        let lost = Outcome::unavailable().with_sent(sent);
        Client::new(calls(3, 100).with_retry(retry)).call(&[at_once(lost), at_once(OK)]).sent()
    };
    assert_eq!(sent(Sent::NotConnected), 2);
    assert_eq!(sent(Sent::Never), 2);
    assert_eq!(sent(Sent::Refused), 2);
    assert_eq!(sent(Sent::Maybe), 1);
    // An attempt that ran into its deadline may have been executed as well.
    let mut client = Client::new(calls(3, 100).with_retry(retry));
    assert_eq!(client.call(&[crate::driver::HANG]).sent(), 1);
}
