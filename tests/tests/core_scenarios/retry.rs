//! What is tried again, and what is not: R1 to R14, R18, R30 to R33 and R37.

use evenkeel_core::{Action, Because, Call, Code, CodeSet, Next, Single, StopReason};

use crate::driver::{Client, OK, U, after, at_once};
use crate::policies::{also, calls, code, ms, opens_after, retries};

/// How a call with three attempts ends when every attempt ends in `ended`.
fn always(ended: Code) -> (StopReason, usize) {
    let run = Client::new(calls(3, 100)).call(&[at_once(code(ended))]);
    assert_eq!(run.last, Some(ended), "the caller is told what the last attempt ended in");
    (run.reason, run.sent())
}

#[test]
fn r1_the_third_attempt_succeeds() {
    let run = Client::new(calls(3, 100)).call(&[at_once(U), at_once(U), at_once(OK)]);
    assert_eq!((run.reason, run.counted), (StopReason::Succeeded, 3));
    assert_eq!(run.last, Some(Code::Ok));
}

#[test]
fn r2_attempts_are_used_up() {
    let run = Client::new(calls(2, 100)).call(&[at_once(U)]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 2, 100));
    assert_eq!(run.last, Some(Code::Unavailable));
}

#[test]
fn r3_a_success_is_not_repeated() {
    assert_eq!(always(Code::Ok), (StopReason::Succeeded, 1));
}

#[test]
fn r4_and_r9_other_codes_are_final_by_default() {
    for ended in Code::ALL {
        let expected = match ended {
            Code::Ok => (StopReason::Succeeded, 1),
            Code::Unavailable | Code::ResourceExhausted => (StopReason::AttemptsUsedUp, 3),
            _ => (StopReason::NotRetryable, 1),
        };
        assert_eq!(always(ended), expected, "{ended}");
    }
}

#[test]
fn r5_a_code_can_be_opted_in() {
    let policy = calls(3, 100).with_retry(retries(3, 100).with_codes(also(&[Code::Internal])));
    let run = Client::new(policy).call(&[at_once(code(Code::Internal)), at_once(OK)]);
    assert_eq!(run.end(), (StopReason::Succeeded, 2, 100));
}

#[test]
fn r6_an_empty_set_repeats_nothing() {
    let policy = calls(3, 100).with_retry(retries(3, 100).with_codes(CodeSet::EMPTY));
    let run = Client::new(policy).call(&[at_once(U)]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 1, 0));
}

#[test]
fn r8_a_method_that_may_not_be_executed_twice_is_sent_once() {
    let retry = retries(3, 100);
    let mut pay = Client::new(calls(3, 100).with_retry(retry.not_idempotent()));
    let mut get = Client::new(calls(3, 100).with_retry(retry.not_idempotent().idempotent()));
    let script = [at_once(U), at_once(OK)];
    assert_eq!(pay.call(&script).end(), (StopReason::NotIdempotent, 1, 0));
    assert_eq!(get.call(&script).end(), (StopReason::Succeeded, 2, 100));
}

#[test]
fn r10_a_refusal_of_our_own_breaker_is_final_at_once() {
    let mut client = Client::new(calls(3, 500)).with_breaker(opens_after(1));
    client.call(&[at_once(code(Code::Internal))]);
    let retry_at = client.breaker().snapshot().retry_at.unwrap();
    let run = client.call(&[at_once(OK)]);
    assert_eq!(run.end(), (StopReason::CircuitOpen { retry_at }, 0, 0));
    assert!(run.retries.is_empty());
}

/// For a request stream that was read, for unary and bidirectional calls alike.
#[test]
fn r11_and_r12_a_request_that_cannot_be_given_twice_is_sent_once() {
    let mut client = Client::new(calls(3, 100));
    let mut call = Call::new(client.policy.deadline(client.now, Default::default()), 1);
    call.forbid_repeats();
    let run = client.drive(call, &[at_once(U), at_once(OK)]);
    assert_eq!(run.end(), (StopReason::NotReplayable, 1, 0));
    assert_eq!(run.last, Some(Code::Unavailable));
}

#[test]
fn r18_cancelling_stops_a_call_that_waits_to_repeat() {
    let policy = calls(3, 100);
    let mut upstream = Single::new(&policy);
    let now = evenkeel_core::Instant::from_micros(9);
    let mut call = Call::new(policy.deadline(now, Default::default()), 1);
    let Action::Attempt(attempt) = call.poll(now, &mut upstream) else { panic!("nothing sent") };
    call.complete(now, &mut upstream, attempt, U);
    call.cancel(now, &mut upstream);
    call.cancel(now, &mut upstream);
    let retry_at = now + ms(100);
    assert_eq!(call.poll(retry_at, &mut upstream), Action::Finish(StopReason::Cancelled));
}

/// What is no gRPC status becomes `UNKNOWN`; a caller who goes away ends the call.
#[test]
fn r30_neither_a_foreign_error_nor_a_cancellation_is_repeated() {
    assert_eq!(always(Code::Unknown), (StopReason::NotRetryable, 1));
    assert_eq!(always(Code::Cancelled), (StopReason::NotRetryable, 1));
}

#[test]
fn r31_and_r33_every_scheduled_retry_is_announced_and_no_other() {
    let exhausted = code(Code::ResourceExhausted);
    let run = Client::new(calls(3, 100)).call(&[at_once(U), at_once(exhausted), at_once(U)]);
    let told: Vec<_> = run.retries.iter().map(|retry| (retry.failed, retry.code)).collect();
    assert_eq!(told, [(1, Code::Unavailable), (2, Code::ResourceExhausted)]);
    assert!(run.retries.iter().all(|retry| retry.because == Because::Backoff));
    assert_eq!(run.sent(), 3);

    let mut hurried = Client::new(calls(3, 100));
    let soon = evenkeel_core::Deadline::at(hurried.now + ms(50));
    assert!(hurried.call_until(soon, &[at_once(U)]).retries.is_empty(), "it was given up");
}

#[test]
fn r37_and_g3_one_attempt_never_waits() {
    let run = Client::new(calls(1, 100)).call(&[after(20, U)]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 1, 20));
    assert!(run.retries.is_empty());
}

/// The end of an attempt says at once what follows, so that nobody has to poll to learn it.
#[test]
fn completing_answers_what_follows() {
    let policy = calls(2, 100);
    let mut upstream = Single::new(&policy);
    let mut now = evenkeel_core::Instant::from_micros(9);
    let mut call = Call::new(policy.deadline(now, Default::default()), 1);
    let Action::Attempt(first) = call.poll(now, &mut upstream) else { panic!("nothing sent") };
    let at = now + ms(100);
    let next = call.complete(now, &mut upstream, first, U);
    assert_eq!(next, Next::Retry { at, because: Because::Backoff });
    now = at;
    let Action::Attempt(second) = call.poll(now, &mut upstream) else { panic!("nothing sent") };
    let next = call.complete(now, &mut upstream, second, U);
    assert_eq!(next, Next::Stop(StopReason::AttemptsUsedUp));
}
