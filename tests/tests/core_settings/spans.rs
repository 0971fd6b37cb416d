//! This file knows every setting that is a span of time, and at which lengths each is refused.

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, BudgetPolicy, CallPolicy, Consecutive, DeadlineBudget, EjectionPolicy,
    HealthPolicy, Instant, Invalid, Micros, OutlierPolicy, ReconnectPolicy, RetryPolicy,
    TimeWindow,
};

const MILLI: Duration = Duration::from_millis(1);

/// A setting: its name, whether zero has a meaning, and how it is set.
type Setting = (&'static str, bool, fn(Duration) -> Result<(), Invalid>);

const BREAKER: BreakerPolicy<Consecutive> = BreakerPolicy::DEFAULT;

const SETTINGS: [Setting; 23] = [
    ("backoff.initial", true, |span| Backoff::new(span, MILLI).map(drop)),
    ("backoff.max", true, |span| Backoff::new(MILLI, span).map(drop)),
    ("balancing.ejection.base_time", false, |span| {
        EjectionPolicy::DEFAULT.with_times(span, MILLI).map(drop)
    }),
    ("balancing.ejection.interval", false, |span| {
        EjectionPolicy::DEFAULT.with_interval(span).map(drop)
    }),
    ("balancing.ejection.max_time", true, |span| {
        EjectionPolicy::DEFAULT.with_times(MILLI, span).map(drop)
    }),
    ("balancing.quarantine", true, |span| OutlierPolicy::DEFAULT.with_quarantine(span).map(drop)),
    ("breaker.max_open", false, |span| BREAKER.with_growth(2_000, span).map(drop)),
    ("breaker.recovery_timeout", true, |span| BREAKER.with_open_for(span).map(drop)),
    ("breaker.short_slice", true, |span| CallPolicy::DEFAULT.with_short_slice(span).map(drop)),
    ("breaker.slow_after", false, |span| BREAKER.with_slow_after(span).map(drop)),
    ("breaker.window", false, |span| TimeWindow::<10>::new(span, 20, 50).map(drop)),
    ("budget.min_timeout", true, |span| BudgetPolicy::DEFAULT.with_min_timeout(span).map(drop)),
    ("budget.safety_margin", true, |span| BudgetPolicy::DEFAULT.with_safety_margin(span).map(drop)),
    ("budget.total", false, |span| {
        let policy = BudgetPolicy::DEFAULT.with_safety_margin(Duration::ZERO)?;
        DeadlineBudget::new(Instant::ZERO, span, policy).map(drop)
    }),
    ("health.check_interval", false, |span| HealthPolicy::DEFAULT.with_interval(span).map(drop)),
    ("health.max_backoff", true, |span| HealthPolicy::DEFAULT.with_max_backoff(span).map(drop)),
    ("health.timeout", false, |span| HealthPolicy::DEFAULT.with_timeout(span).map(drop)),
    ("hedging.delay", true, |span| CallPolicy::DEFAULT.with_hedge_after(span).map(drop)),
    ("reconnect.dial_timeout", false, |span| {
        ReconnectPolicy::DEFAULT.with_dial_timeout(span).map(drop)
    }),
    ("reconnect.give_up_after", false, |span| {
        ReconnectPolicy::DEFAULT.with_give_up_after(span).map(drop)
    }),
    ("timeout.attempt_timeout", false, |span| {
        CallPolicy::DEFAULT.with_attempt_timeout(span).map(drop)
    }),
    ("retry.max_hint", true, |span| RetryPolicy::DEFAULT.with_max_hint(span).map(drop)),
    ("timeout.default", false, |span| CallPolicy::DEFAULT.with_timeout(span).map(drop)),
];

/// Those of a link, whose zero means something in each case.
const LINK: [Setting; 3] = [
    ("reconnect.max_hint", true, |span| ReconnectPolicy::DEFAULT.with_max_hint(span).map(drop)),
    ("reconnect.splay", true, |span| ReconnectPolicy::DEFAULT.with_splay(span).map(drop)),
    ("reconnect.stable_after", true, |span| {
        ReconnectPolicy::DEFAULT.with_stable_after(span).map(drop)
    }),
];

#[test]
fn a_span_is_refused_at_its_ends_and_nowhere_else() {
    let end = Micros::SETTING_END.as_duration();
    let least = Duration::from_micros(10);
    for (field, zero, set) in SETTINGS.into_iter().chain(LINK) {
        for span in [least, MILLI, end - Duration::from_nanos(1)] {
            assert_eq!(set(span), Ok(()), "{field} = {span:?}");
        }
        for span in [end, end + Duration::from_nanos(1), Duration::MAX] {
            let refused = set(span).expect_err(field);
            assert_eq!(refused.field(), field, "{span:?}");
            let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
            assert_eq!(refused.value(), micros, "{field} says another value than it was given");
            assert_eq!(refused.unit(), " µs", "{field}");
            assert!(refused.rule().contains("less than 2^48 µs"), "{refused}");
        }
        match set(Duration::ZERO) {
            Ok(()) => assert!(zero, "{field} takes zero, which means nothing there"),
            Err(refused) => {
                assert!(!zero, "{refused}");
                assert_eq!((refused.field(), refused.value()), (field, 0));
            }
        }
    }
}

/// Less than the clock can tell is no time at all, and must not pass for some.
#[test]
fn what_rounds_to_zero_is_refused_like_zero() {
    for (field, zero, set) in SETTINGS.into_iter().chain(LINK) {
        let taken = set(Duration::from_nanos(1)).is_ok();
        // Rounding up is as good as refusing; rounding down to "no limit" is not.
        assert!(taken || !zero, "{field} refuses a nanosecond, and takes zero");
    }
}

/// What is longer than there are microseconds has no end, instead of what is left of its bits.
#[test]
fn a_span_beyond_the_last_microsecond_is_endless() {
    let last = Duration::from_micros(u64::MAX);
    assert_eq!(Micros::from_duration(last - Duration::from_micros(1)).as_micros(), u64::MAX - 1);
    for endless in [last, last + Duration::from_micros(1), 2 * last, Duration::MAX] {
        assert_eq!(Micros::from_duration(endless), Micros::MAX, "{endless:?}");
    }
}
