//! When attempts start and how much time each is given: R19 to R28 and R36.

use evenkeel_core::{Code, Deadline, StopReason};

use crate::driver::{Client, HANG, OK, U, UNBOUNDED, after, at_once};
use crate::policies::{also, calls, calls_within, code, exact, ms, retries};

#[test]
fn r19_every_attempt_is_given_what_is_left_of_the_call() {
    let constant = exact(50).with_multiplier(1_000).unwrap();
    let policy = calls_within(5_000, 3, 50).with_retry(retries(3, 50).with_backoff(constant));
    let run = Client::new(policy).call(&[after(50, U)]);
    assert_eq!(run.slices(), [(0, 5_000), (100, 4_900), (200, 4_800)]);
}

#[test]
fn r23_after_the_calls_own_deadline_nothing_is_tried() {
    let retry = retries(4, 100).with_codes(also(&[Code::DeadlineExceeded]));
    let run = Client::new(calls_within(400, 4, 100).with_retry(retry)).call(&[HANG]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 1, 400));
    assert_eq!(run.last, Some(Code::DeadlineExceeded));
}

#[test]
fn r24_without_a_deadline_attempts_have_none() {
    let run = Client::new(calls(3, 100).unbounded()).call(&[after(10, U)]);
    assert_eq!(run.slices(), [(0, UNBOUNDED), (110, UNBOUNDED), (320, UNBOUNDED)]);
}

#[test]
fn r25_three_attempts_share_two_seconds() {
    let run = Client::new(calls_within(2_000, 3, 300)).call(&[at_once(U)]);
    assert_eq!(run.slices(), [(0, 2_000), (300, 1_700), (900, 1_100)]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 3, 900));
}

#[test]
fn r26_five_attempts_share_ten_seconds() {
    let run = Client::new(calls_within(10_000, 5, 100)).call(&[after(50, U)]);
    let expected = [(0, 10_000), (150, 9_850), (400, 9_600), (850, 9_150), (1_700, 8_300)];
    assert_eq!(run.slices(), expected);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 5, 1_750));
}

#[test]
fn r27_the_callers_nearer_deadline_ends_the_retries_early() {
    let mut client = Client::new(calls_within(10_000, 5, 100));
    let caller = Deadline::at(client.now + ms(150));
    let run = client.call_until(caller, &[at_once(U)]);
    assert_eq!(run.slices(), [(0, 150), (100, 50)]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 2, 100));
    assert_eq!(run.last, Some(Code::Unavailable));
}

#[test]
fn r28_a_final_code_ends_the_retries() {
    let script = [U, code(Code::ResourceExhausted), code(Code::NotFound)].map(at_once);
    let run = Client::new(calls(4, 100)).call(&script);
    assert_eq!(run.waits(), [100, 200]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 3, 300));
    assert_eq!(run.last, Some(Code::NotFound));
}

#[test]
fn r36_a_wait_longer_than_the_call_is_not_begun() {
    let run = Client::new(calls_within(250, 3, 300)).call(&[at_once(U)]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 1, 0));
}

/// Periods are half-open: a wait that ends exactly at the deadline leaves nothing to start with.
#[test]
fn a_wait_that_ends_at_the_deadline_is_not_begun_and_a_shorter_one_is() {
    let run = Client::new(calls_within(300, 3, 300)).call(&[at_once(U)]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 1, 0));
    let run = Client::new(calls_within(301, 3, 300)).call(&[at_once(U), at_once(OK)]);
    assert_eq!(run.slices(), [(0, 301), (300, 1)]);
}
