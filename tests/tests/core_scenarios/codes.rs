//! Attempts and codes the way gRPC counts and names them: G1 to G12, G37, G41 and G49.

use evenkeel_core::{Backoff, Call, Code, CodeSet, Outcome, RetryPolicy, Sent, StopReason};

use crate::driver::{Client, OK, U, at_once};
use crate::policies::{calls, code, exact, opens_after, retries};

#[test]
fn g1_four_attempts_are_four_requests() {
    let run = Client::new(calls(4, 100)).call(&[at_once(U)]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 4, 700));
    assert_eq!(run.last, Some(Code::Unavailable));
}

/// gRPC's limit of five is one of service configs, which come from afar; our own settings do not.
#[test]
fn g2_our_own_settings_may_ask_for_nine_attempts() {
    assert_eq!(Client::new(calls(9, 1)).call(&[at_once(U)]).sent(), 9);
}

#[test]
fn g3_no_attempts_are_refused_and_one_is_no_retry() {
    let refused = RetryPolicy::DEFAULT.with_max_attempts(0).unwrap_err();
    assert_eq!((refused.field(), refused.value()), ("retry.max_attempts", 0));
    assert_eq!(Client::new(calls(1, 100)).call(&[at_once(U)]).sent(), 1);
}

#[test]
fn g6_a_multiplier_of_zero_is_refused_by_name() {
    let refused = Backoff::DEFAULT.with_multiplier(0).unwrap_err();
    assert_eq!(refused.field(), "backoff.multiplier");
    assert_eq!(Code::from_name("UNAVAILABEL"), None, "an unknown name is no code");
}

#[test]
fn g7_a_code_by_number_and_by_name_in_any_case_is_the_same() {
    let written = [
        Code::from_number(14),
        Code::from_name("UNAVAILABLE").unwrap(),
        Code::from_name("unavailable").unwrap(),
    ];
    assert_eq!(written, [Code::Unavailable; 3]);
    let sets = written.map(|code| CodeSet::of(&[code]));
    assert!(sets.iter().all(|set| *set == sets[0]));
}

#[test]
fn g8_a_code_outside_the_set_is_one_request() {
    let run = Client::new(calls(4, 100)).call(&[at_once(code(Code::NotFound))]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 1, 0));
}

#[test]
fn g9_the_second_request_says_that_one_came_before() {
    let run = Client::new(calls(4, 100)).call(&[at_once(U), at_once(OK)]);
    let previous: Vec<u16> = run.attempts.iter().map(|seen| seen.previous).collect();
    assert_eq!((run.reason, previous), (StopReason::Succeeded, vec![0, 1]));
}

#[test]
fn g10_a_transparent_repetition_does_not_change_the_numbers() {
    let never = U.with_sent(Sent::Never);
    let script = [U, never, U, OK].map(at_once);
    let run = Client::new(calls(4, 100)).call(&script);
    let previous: Vec<u16> = run.attempts.iter().map(|seen| seen.previous).collect();
    assert_eq!(previous, [0, 1, 1, 2]);
    assert_eq!(run.counted, 3);
}

#[test]
fn g11_an_empty_set_is_never_retried() {
    assert!(RetryPolicy::OFF.codes().is_empty());
    let policy = calls(4, 100).with_retry(retries(4, 100).with_codes(CodeSet::EMPTY));
    assert_eq!(Client::new(policy).call(&[at_once(U)]).sent(), 1);
}

#[test]
fn g12_and_g37_a_method_outside_the_allow_list_is_executed_once() {
    let retry = RetryPolicy::DEFAULT.with_backoff(exact(100)).not_idempotent();
    let mut client = Client::new(calls(3, 100).with_retry(retry));
    // A reset inside the handler: it may have been executed.
    let reset = Outcome::new(Code::Unavailable).with_sent(Sent::Maybe);
    let run = client.call(&[at_once(reset)]);
    assert_eq!(run.end(), (StopReason::NotIdempotent, 1, 0));
}

/// A body above the replay limit is sent once; the adapter finds out and says so.
#[test]
fn g41_a_request_too_large_to_keep_is_sent_once() {
    let mut client = Client::new(calls(3, 100));
    let mut call = Call::new(client.policy.deadline(client.now, Default::default()), 1);
    call.forbid_repeats();
    let never = U.with_sent(Sent::Never);
    let run = client.drive(call, &[at_once(never), at_once(OK)]);
    assert_eq!(run.end(), (StopReason::NotReplayable, 1, 0));
}

/// A response stream that ends without a status is `UNKNOWN`.
#[test]
fn g49_unknown_counts_as_a_failure_and_is_not_repeated() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(5));
    let run = client.call(&[at_once(code(Code::Unknown))]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 1, 0));
    assert_eq!(client.breaker().snapshot().failures, 1);
}
