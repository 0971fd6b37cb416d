//! Waiting for a target, and for a connection: W11 to W13, R38, and G65 to G69.

use evenkeel_core::{Action, BreakerState, Call, Code, Deadline, StopReason};

use crate::driver::{Client, HANG, OK, U, after, at_once, drive};
use crate::policies::{calls, calls_within, code, ms, opens_after};
use crate::pool::Pool;

#[test]
fn w11_and_g65_a_call_made_too_early_waits_and_is_sent_once() {
    let mut pool = Pool::of(1, calls_within(3_000, 3, 100), opens_after(1));
    pool.members[0].eligible = false;
    let mut now = evenkeel_core::Instant::from_micros(5);
    let began = now;
    let deadline = pool.policy.deadline(now, Deadline::NONE);
    let mut call = Call::new(deadline, 1).wait_for_ready();

    assert_eq!(call.poll(now, &mut pool), Action::WaitUntil(deadline.instant()));
    now = began + ms(100);
    assert_eq!(call.poll(now, &mut pool), Action::WaitUntil(deadline.instant()));

    // The driver polls when eligibility changes.
    now = began + ms(200);
    pool.members[0].eligible = true;
    let run = drive(&mut now, &mut pool, call, &[after(10, OK)]);
    assert_eq!(run.end(), (StopReason::Succeeded, 1, 10));
    assert!(pool.members[0].breaker.is_clean());
}

#[test]
fn w12_without_waiting_a_dead_target_fails_fast() {
    let mut client = Client::new(calls(3, 100));
    let refused = evenkeel_core::Outcome::not_connected();
    let run = client.call(&[after(1, refused)]);
    assert_eq!(run.end(), (StopReason::AttemptsUsedUp, 3, 303));
    assert_eq!(run.last, Some(Code::Unavailable));

    let mut nobody = Pool::of(0, calls(3, 100), opens_after(1));
    let mut now = client.now;
    let deadline = nobody.policy.deadline(now, Deadline::NONE);
    let run = drive(&mut now, &mut nobody, Call::new(deadline, 1), &[at_once(OK)]);
    assert_eq!(run.end(), (StopReason::NoTarget, 0, 0));
}

/// On the wire the wait for a connection lies inside the attempt, below the breaker.
#[test]
fn w13_and_g67_a_connection_that_never_comes_costs_one_attempt_and_one_failure() {
    let mut client = Client::new(calls_within(1_000, 3, 100)).with_breaker(opens_after(2));
    let run = client.call(&[HANG]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 1, 1_000));
    assert_eq!(run.last, Some(Code::DeadlineExceeded));
    let shown = client.breaker().snapshot();
    assert_eq!((shown.state, shown.failures), (BreakerState::Closed, 1));
}

#[test]
fn waiting_for_a_target_ends_at_the_deadline() {
    let mut pool = Pool::of(1, calls_within(1_000, 3, 100), opens_after(1));
    pool.members[0].eligible = false;
    let mut now = evenkeel_core::Instant::from_micros(5);
    let deadline = pool.policy.deadline(now, Deadline::NONE);
    let call = Call::new(deadline, 1).wait_for_ready();
    let run = drive(&mut now, &mut pool, call, &[at_once(OK)]);
    assert_eq!(run.end(), (StopReason::DeadlinePassed, 0, 1_000));
}

#[test]
fn r38_a_retry_waits_for_its_target_too() {
    let mut pool = Pool::of(1, calls_within(3_000, 3, 100), opens_after(5));
    let began = evenkeel_core::Instant::from_micros(5);
    let deadline = pool.policy.deadline(began, Deadline::NONE);
    let mut call = Call::new(deadline, 1).wait_for_ready();
    let Action::Attempt(first) = call.poll(began, &mut pool) else { panic!("nothing was sent") };
    call.complete(began, &mut pool, first, U);

    pool.members[0].eligible = false;
    let retry_at = began + ms(100);
    assert_eq!(call.poll(retry_at, &mut pool), Action::WaitUntil(deadline.instant()));
    pool.members[0].eligible = true;
    let Action::Attempt(second) = call.poll(retry_at, &mut pool) else { panic!("it is up") };
    assert_eq!((second.number(), second.info().number(), second.info().previous()), (2, 2, 1));
}

#[test]
fn g69_a_connection_lost_after_sending_is_the_retry_policys_business() {
    let mut client = Client::new(calls(3, 100));
    let run = client.call(&[after(50, U), after(10, OK)]);
    assert_eq!(run.slices(), [(0, 10_000), (150, 9_850)]);

    let retry = client.policy.retry().not_idempotent();
    client.policy = client.policy.with_retry(retry);
    let run = client.call(&[after(50, U), after(10, OK)]);
    assert_eq!(run.end(), (StopReason::NotIdempotent, 1, 50));
    assert_eq!(client.call(&[after(5, code(Code::Ok))]).reason, StopReason::Succeeded);
}
