//! The time of a call, its attempts and its request: L2 to L23, and G50 to G58.

use core::time::Duration;

use evenkeel_core::{
    BudgetExhausted, BudgetPolicy, CallPolicy, Code, Deadline, DeadlineBudget, Instant, Micros,
    StopReason,
};

use crate::driver::{Client, HANG, OK, U, after, at_once};
use crate::policies::{also, calls, calls_within, code, millis, ms, opens_after, retries};

const BEGAN: Instant = Instant::from_micros(3_000_000);

fn within(timeout: u64) -> CallPolicy {
    CallPolicy::DEFAULT.with_timeout(millis(timeout)).unwrap()
}

fn left(policy: &CallPolicy, caller: Deadline) -> Micros {
    policy.deadline(BEGAN, caller).remaining(BEGAN)
}

fn in_millis(span: u64) -> Deadline {
    Deadline::at(BEGAN + ms(span))
}

fn request(total: u64) -> DeadlineBudget {
    DeadlineBudget::new(BEGAN, millis(total), BudgetPolicy::DEFAULT).unwrap()
}

/// What every adapter does with a budget: the call's deadline is the nearer of its own and what
/// the budget grants.
fn trimmed(
    policy: &CallPolicy,
    budget: &DeadlineBudget,
    now: Instant,
    reserve: u64,
    cap: Option<u64>,
) -> Result<Deadline, BudgetExhausted> {
    let granted = budget.grant(now, ms(reserve), cap.map(ms))?;
    Ok(policy.deadline(now, Deadline::at(now + granted)))
}

#[test]
fn l2_l3_l4_and_l14_the_nearer_of_budget_and_timeout() {
    let trim = |policy: CallPolicy, total| {
        trimmed(&policy, &request(total), BEGAN, 0, None).unwrap().remaining(BEGAN)
    };
    assert_eq!(trim(CallPolicy::DEFAULT.unbounded(), 1_500), ms(1_500), "l2");
    assert_eq!(trim(within(2_000), 10_000), ms(2_000), "l3");
    assert_eq!(trim(within(10_000), 500), ms(500), "l4");
    assert_eq!(trim(within(5_000), 50_000), ms(5_000), "l14");
}

#[test]
fn l5_l16_l23_and_g58_a_spent_budget_makes_no_call() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    let budget = DeadlineBudget::new(client.now, millis(150), BudgetPolicy::DEFAULT).unwrap();
    client.pass(300);
    let granted = trimmed(&client.policy, &budget, client.now, 0, None);
    let refused = granted.map(|deadline| client.call_until(deadline, &[at_once(U)])).unwrap_err();
    assert_eq!((refused.elapsed, refused.total), (ms(300), ms(150)));
    assert!(client.breaker().is_clean(), "the breaker saw a failure that nobody had");
}

#[test]
fn l9_the_smaller_of_the_callers_and_the_configured_time() {
    assert_eq!(left(&within(5_000), Deadline::NONE), ms(5_000));
    assert_eq!(left(&within(1_000), Deadline::NONE), ms(1_000), "a method's own over the default");
    assert_eq!(left(&within(100_000), in_millis(10_000)), ms(10_000));
    assert_eq!(left(&within(5_000), in_millis(100_000)), ms(5_000));
}

#[test]
fn g52_neither_the_caller_nor_the_policy_widens() {
    assert_eq!(left(&within(10_000), in_millis(1_000)), ms(1_000));
    assert_eq!(left(&within(1_000), in_millis(10_000)), ms(1_000));
    assert_eq!(left(&CallPolicy::DEFAULT.unbounded(), Deadline::NONE), Micros::MAX);
}

#[test]
fn l10_none_is_not_zero() {
    let refused = CallPolicy::DEFAULT.with_timeout(Duration::ZERO).unwrap_err();
    assert_eq!(refused.field(), "timeout.default");
    assert!(refused.to_string().contains("none"), "{refused}");

    let mut client = Client::new(calls(3, 100).unbounded());
    assert_eq!(client.call(&[at_once(OK)]).slices(), [(0, u64::MAX)]);
    let nothing = Deadline::after(client.now, Duration::ZERO);
    let run = client.call_until(nothing, &[at_once(OK)]);
    assert_eq!(run.end(), (StopReason::DeadlinePassed, 0, 0));
}

#[test]
fn l11_a_timeout_that_cannot_be_meant_is_refused_by_name() {
    let refused = CallPolicy::DEFAULT.with_timeout(Duration::MAX).unwrap_err();
    assert_eq!(refused.field(), "timeout.default");
    let refused = CallPolicy::DEFAULT.with_attempt_timeout(Duration::ZERO).unwrap_err();
    assert_eq!(refused.field(), "timeout.attempt_timeout");
}

#[test]
fn l13_and_g57_calls_in_a_row_see_what_the_ones_before_have_left() {
    let mut client = Client::new(calls_within(5_000, 3, 100));
    let budget = DeadlineBudget::new(client.now, millis(3_000), BudgetPolicy::DEFAULT).unwrap();
    let seen: Vec<(u64, u64)> = (0..3)
        .map(|_| {
            let deadline = trimmed(&client.policy, &budget, client.now, 0, None).unwrap();
            client.call_until(deadline, &[after(350, OK)]).slices()[0]
        })
        .collect();
    assert_eq!(seen, [(0, 3_000), (0, 2_650), (0, 2_300)]);
}

#[test]
fn l15_a_cap_limits_the_call_it_is_for() {
    let policy = CallPolicy::DEFAULT;
    let fetch = trimmed(&policy, &request(3_000), BEGAN, 0, None).unwrap();
    let audit = trimmed(&policy, &request(3_000), BEGAN, 0, Some(500)).unwrap();
    assert_eq!((fetch, audit), (in_millis(3_000), in_millis(500)));
}

#[test]
fn l22_the_reserve_is_kept_back() {
    let now = BEGAN + ms(1_000);
    let deadline = trimmed(&CallPolicy::DEFAULT, &request(3_000), now, 500, None).unwrap();
    assert_eq!(deadline.remaining(now), ms(1_500));
}

#[test]
fn g50_the_second_attempt_is_cut_off_at_the_calls_deadline() {
    let mut client = Client::new(calls_within(2_000, 3, 100));
    let run = client.call(&[after(1_500, U)]);
    assert_eq!(run.slices(), [(0, 2_000), (1_600, 400)]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 2, 2_000));
    assert_eq!(run.last, Some(Code::DeadlineExceeded));
}

#[test]
fn g51_a_wait_that_would_pass_the_deadline_is_not_begun() {
    let mut client = Client::new(calls_within(2_000, 3, 1_000));
    let run = client.call(&[after(1_500, U)]);
    assert_eq!(run.end(), (StopReason::DeadlineWouldPass, 1, 1_500));
    assert_eq!(run.last, Some(Code::Unavailable), "the peer's own error stands");
}

#[test]
fn g55_an_answer_at_or_after_the_deadline_is_too_late_whatever_it_says() {
    for too_late in [1_000, 1_001] {
        for answer in [OK, code(Code::Cancelled), U] {
            let mut client = Client::new(calls_within(1_000, 1, 100)).with_breaker(opens_after(1));
            let run = client.call(&[after(too_late, answer)]);
            assert_eq!(run.last, Some(Code::DeadlineExceeded));
            assert_eq!(run.end(), (StopReason::NotRetryable, 1, 1_000));
            assert!(client.breaker().is_protecting(), "it counts as the peer's failure");
        }
    }
    let mut client = Client::new(calls_within(1_000, 1, 100));
    assert_eq!(client.call(&[after(999, OK)]).reason, StopReason::Succeeded);
}

#[test]
fn g56_a_cancellation_well_before_the_deadline_is_neutral() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    let run = client.call(&[after(200, code(Code::Cancelled))]);
    assert_eq!(run.end(), (StopReason::NotRetryable, 1, 200));
    assert_eq!(run.last, Some(Code::Cancelled));
    assert!(client.breaker().is_clean());
}

/// A limit for each attempt ends the attempt, not the call.
#[test]
fn an_attempts_own_timeout_may_be_retried() {
    let policy = calls(3, 100).with_attempt_timeout(millis(400)).unwrap();
    let retry = retries(3, 100).with_codes(also(&[Code::DeadlineExceeded]));
    let mut client = Client::new(policy.with_retry(retry));
    let run = client.call(&[HANG, after(10, OK)]);
    assert_eq!(run.slices(), [(0, 400), (500, 400)]);
    assert_eq!(run.reason, StopReason::Succeeded);
}
