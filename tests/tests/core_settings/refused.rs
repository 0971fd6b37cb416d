//! This file knows the settings that are numbers: what is refused, and in which words.

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Consecutive, DeadlineBudget, EjectionPolicy,
    FailurePercentage, HealthPolicy, Instant, Invalid, Jitter, LastN, ReconnectPolicy, RetryPolicy,
    Rung, SuccessRate, ThrottlePolicy, TimeWindow, check_weights,
};

const SECOND: Duration = Duration::from_secs(1);
static NO_FAILURE: [Rung; 1] = [Rung::reset_peripheral(0)];
static HIGHEST: [Rung; 255] = [Rung::reset_peripheral(1); 255];
static TOO_HIGH: [Rung; 256] = [Rung::reset_peripheral(1); 256];
const BREAKER: BreakerPolicy<Consecutive> = BreakerPolicy::DEFAULT;

/// The words of a refusal, or `taken`.
fn said<T>(set: Result<T, Invalid>) -> String {
    set.map_or_else(|refused| refused.to_string(), |_| "taken".into())
}

#[test]
fn each_refusal_names_the_setting_the_value_and_what_would_be_right() {
    let budget = evenkeel_core::BudgetPolicy::DEFAULT.with_safety_margin(SECOND).unwrap();
    let table = [
        (
            said(Backoff::DEFAULT.with_multiplier(999)),
            "backoff.multiplier = 999/1000: must be from 1000 (constant) to 65535000, in thousandths",
        ),
        (
            said(Backoff::DEFAULT.with_jitter(Jitter::Proportional(1_001))),
            "backoff.jitter = 1001/1000: must be from 0 to 1000, in thousandths of the delay",
        ),
        (
            said(EjectionPolicy::DEFAULT.with_max_percent(101)),
            "balancing.ejection.max_percent = 101 %: must be from 0 to 100 % of the targets",
        ),
        (
            said(FailurePercentage::new(101, 1, 1)),
            "balancing.ejection.failure_threshold = 101 %: must be from 0 to 100 % of the calls",
        ),
        (
            said(SuccessRate::new(1_000_001, 1, 1)),
            "balancing.ejection.stdev_factor = 1000001/1000: must be from 0 to 1000000, in \
             thousandths of a standard deviation",
        ),
        (
            said(check_weights(&[0, 0])),
            "balancing.weights = 0: must be above zero for one target at least",
        ),
        (
            said(Consecutive::new(0)),
            "breaker.fail_threshold = 0: must be 1 or more failures in a row",
        ),
        (
            said(BREAKER.with_growth(999, SECOND)),
            "breaker.growth = 999/1000: must be from 1000 (constant) to 65535000, in thousandths",
        ),
        (
            said(BREAKER.with_open_jitter(1_001, 0)),
            "breaker.jitter = 1001/1000: must be from 0 to 1000, in thousandths of the open time",
        ),
        (
            said(BREAKER.with_max_trials(0)),
            "breaker.half_open_max_calls = 0: must be 1 or more trials at a time",
        ),
        (
            said(BREAKER.with_successes_to_close(0)),
            "breaker.successes_to_close = 0: must be 1 or more successful trials",
        ),
        (
            said(LastN::<4>::new(129, 1, 50)),
            "breaker.window_calls = 129: must be from 1 to 32 × WORDS calls (128 with LastN<4>, \
             the default)",
        ),
        (
            said(LastN::<4>::new(10, 11, 50)),
            "breaker.min_calls = 11: must be from 1 to n, the calls in the window",
        ),
        (said(LastN::<4>::new(10, 5, 101)), "breaker.share = 101 %: must be from 1 to 100 percent"),
        (
            said(TimeWindow::<10>::new(SECOND, 20, 0)),
            "breaker.share = 0 %: must be from 1 to 100 percent",
        ),
        (
            said(TimeWindow::<10>::new(SECOND, 0, 50)),
            "breaker.min_calls = 0: must be from 1 to 32767 for each bucket",
        ),
        (
            said(TimeWindow::<10>::new(SECOND, 327_671, 50)),
            "breaker.min_calls = 327671: must be from 1 to 32767 for each bucket",
        ),
        (
            said(TimeWindow::<10>::new(Duration::from_micros(9), 20, 50)),
            "breaker.window = 9 µs: must be at least a microsecond per bucket",
        ),
        (
            said(TimeWindow::<1>::new(SECOND, 20, 50)),
            "breaker.buckets = 1: must be from 2 to 255 buckets",
        ),
        (
            said(DeadlineBudget::new(Instant::ZERO, SECOND, budget)),
            "budget.safety_margin = 1000000 µs: must be shorter than budget.total",
        ),
        (
            said(HealthPolicy::DEFAULT.with_counts(0, 1)),
            "health.rise = 0: must be 1 or more equal answers in a row",
        ),
        (
            said(HealthPolicy::DEFAULT.with_counts(1, 0)),
            "health.fall = 0: must be 1 or more equal answers in a row",
        ),
        (
            said(
                ReconnectPolicy::DEFAULT
                    .with_backoff(Backoff::new(Duration::ZERO, SECOND).unwrap()),
            ),
            "reconnect.backoff = 0 µs: must be longer than zero",
        ),
        (
            said(ReconnectPolicy::DEFAULT.with_ladder(&NO_FAILURE)),
            "reconnect.ladder = 0: must be after 1 or more",
        ),
        (
            said(ReconnectPolicy::DEFAULT.with_ladder(&TOO_HIGH)),
            "reconnect.ladder = 256 rungs: must be at most 255",
        ),
        (
            said(CallPolicy::DEFAULT.with_attempt_timeout(Duration::ZERO)),
            "timeout.attempt_timeout = 0 µs: must be longer than zero; for no limit do not set it",
        ),
        (
            said(RetryPolicy::DEFAULT.with_max_attempts(0)),
            "retry.max_attempts = 0: must be 1 or more; it counts the first attempt, so 1 never \
             retries",
        ),
        (
            said(ThrottlePolicy::grpc(1_001, 100)),
            "throttle.max_tokens = 1001: must be from 1 to 1000",
        ),
        (
            said(ThrottlePolicy::success_refilled(10, 0)),
            "throttle.token_ratio = 0/1000: must be from 1 to 1000000, in thousandths of a token \
             per success",
        ),
        (
            said(CallPolicy::DEFAULT.with_timeout(Duration::ZERO)),
            "timeout.default = 0 µs: must be longer than zero; for no limit give none",
        ),
    ];
    for (got, expected) in table {
        assert_eq!(got, expected);
    }
}

/// Both ends of what is right are taken, and their neighbours are not.
#[test]
fn the_ends_of_each_range_are_within_it() {
    let taken = [
        said(ReconnectPolicy::DEFAULT.with_ladder(&HIGHEST)),
        said(Backoff::DEFAULT.with_multiplier(1_000)),
        said(Backoff::DEFAULT.with_multiplier(65_535_000)),
        said(BREAKER.with_growth(1_000, SECOND)),
        said(BREAKER.with_growth(65_535_000, SECOND)),
        said(BREAKER.with_open_jitter(1_000, 0)),
        said(EjectionPolicy::DEFAULT.with_max_percent(0)),
        said(EjectionPolicy::DEFAULT.with_max_percent(100)),
        said(FailurePercentage::new(0, 1, 1)),
        said(FailurePercentage::new(100, u16::MAX, u32::MAX)),
        said(SuccessRate::new(0, 1, 1)),
        said(SuccessRate::new(1_000_000, u16::MAX, u32::MAX)),
        said(LastN::<4>::new(128, 128, 100)),
        said(LastN::<1>::new(1, 1, 1)),
        said(TimeWindow::<2>::new(Duration::from_micros(2), 1, 1)),
        said(TimeWindow::<255>::new(Duration::from_micros(255), 255 * 32_767, 100)),
        said(ThrottlePolicy::grpc(1, 1)),
        said(ThrottlePolicy::success_refilled(1_000, 1_000_000)),
        said(check_weights(&[0, 1])),
        said(HealthPolicy::DEFAULT.with_counts(255, 255)),
    ];
    assert_eq!(taken, ["taken"; 20]);
    let refused = [
        said(Backoff::DEFAULT.with_multiplier(65_535_001)),
        said(BREAKER.with_growth(65_535_001, SECOND)),
        said(FailurePercentage::new(1, 0, 1)),
        said(FailurePercentage::new(1, 1, 0)),
        said(SuccessRate::new(1, 0, 1)),
        said(SuccessRate::new(1, 1, 0)),
        said(LastN::<4>::new(0, 0, 50)),
        said(LastN::<4>::new(10, 0, 50)),
        said(TimeWindow::<256>::new(SECOND, 20, 50)),
        said(TimeWindow::<0>::new(SECOND, 20, 50)),
        said(ThrottlePolicy::grpc(0, 1)),
        said(ThrottlePolicy::grpc(1, 1_000_001)),
        said(check_weights(&[])),
    ];
    for words in refused {
        assert_ne!(words, "taken");
    }
}
