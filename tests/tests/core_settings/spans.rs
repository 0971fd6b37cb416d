//! This file knows every setting that is a span of time, and at which lengths each is refused.

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, BudgetPolicy, CallPolicy, Consecutive, DeadlineBudget, EjectionPolicy,
    HealthPolicy, Instant, Invalid, Micros, OutlierPolicy, ReconnectPolicy, RetryPolicy,
    TimeWindow,
};

const MILLI: Duration = Duration::from_millis(1);

/// Where a span ends that has no bound of its own: the first length that is refused.
const END: Duration = Micros::SETTING_END.as_duration();

/// A setting: its name, whether zero has a meaning, the first length that is refused for being too
/// long ([`END`], or a bound of its own), and how it is set.
type Setting = (&'static str, bool, Duration, fn(Duration) -> Result<(), Invalid>);

const BREAKER: BreakerPolicy<Consecutive> = BreakerPolicy::DEFAULT;

const SETTINGS: [Setting; 23] = [
    ("backoff.initial", true, END, |span| Backoff::new(span, MILLI).map(drop)),
    ("backoff.max", true, END, |span| Backoff::new(MILLI, span).map(drop)),
    ("balancing.ejection.base_time", false, END, |span| {
        EjectionPolicy::DEFAULT.with_times(span, MILLI).map(drop)
    }),
    ("balancing.ejection.interval", false, END, |span| {
        EjectionPolicy::DEFAULT.with_interval(span).map(drop)
    }),
    ("balancing.ejection.max_time", true, END, |span| {
        EjectionPolicy::DEFAULT.with_times(MILLI, span).map(drop)
    }),
    ("balancing.quarantine", true, END, |span| {
        OutlierPolicy::DEFAULT.with_quarantine(span).map(drop)
    }),
    ("breaker.max_open", false, END, |span| BREAKER.with_growth(2_000, span).map(drop)),
    ("breaker.recovery_timeout", true, END, |span| BREAKER.with_open_for(span).map(drop)),
    ("breaker.short_slice", true, END, |span| CallPolicy::DEFAULT.with_short_slice(span).map(drop)),
    ("breaker.slow_after", false, END, |span| BREAKER.with_slow_after(span).map(drop)),
    ("breaker.window", false, END, |span| TimeWindow::<10>::new(span, 20, 50).map(drop)),
    ("budget.min_timeout", true, END, |span| {
        BudgetPolicy::DEFAULT.with_min_timeout(span).map(drop)
    }),
    ("budget.safety_margin", true, END, |span| {
        BudgetPolicy::DEFAULT.with_safety_margin(span).map(drop)
    }),
    ("budget.total", false, END, |span| {
        let policy = BudgetPolicy::DEFAULT.with_safety_margin(Duration::ZERO)?;
        DeadlineBudget::new(Instant::ZERO, span, policy).map(drop)
    }),
    ("health.check_interval", false, END, |span| {
        HealthPolicy::DEFAULT.with_interval(span).map(drop)
    }),
    ("health.max_backoff", true, END, |span| {
        HealthPolicy::DEFAULT.with_max_backoff(span).map(drop)
    }),
    ("health.timeout", false, END, |span| HealthPolicy::DEFAULT.with_timeout(span).map(drop)),
    ("hedging.delay", true, END, |span| CallPolicy::DEFAULT.with_hedge_after(span).map(drop)),
    ("reconnect.dial_timeout", false, END, |span| {
        ReconnectPolicy::DEFAULT.with_dial_timeout(span).map(drop)
    }),
    ("reconnect.give_up_after", false, END, |span| {
        ReconnectPolicy::DEFAULT.with_give_up_after(span).map(drop)
    }),
    ("timeout.attempt_timeout", false, END, |span| {
        CallPolicy::DEFAULT.with_attempt_timeout(span).map(drop)
    }),
    ("retry.max_hint", true, END, |span| RetryPolicy::DEFAULT.with_max_hint(span).map(drop)),
    ("timeout.default", false, END, |span| CallPolicy::DEFAULT.with_timeout(span).map(drop)),
];

/// Those of a link, whose zero means something in each case.
const LINK: [Setting; 3] = [
    ("reconnect.max_hint", true, END, |span| {
        ReconnectPolicy::DEFAULT.with_max_hint(span).map(drop)
    }),
    ("reconnect.splay", true, END, |span| ReconnectPolicy::DEFAULT.with_splay(span).map(drop)),
    ("reconnect.stable_after", true, END, |span| {
        ReconnectPolicy::DEFAULT.with_stable_after(span).map(drop)
    }),
];

#[test]
fn a_span_is_refused_at_its_ends_and_nowhere_else() {
    for setting in SETTINGS.into_iter().chain(LINK) {
        is_refused_at_its_ends(setting);
    }
}

/// None has one yet, and the next shall find that it may.
#[test]
fn a_span_may_have_a_bound_of_its_own() {
    const HOUR: Duration = Duration::from_secs(3_600);
    fn at_most_an_hour(span: Duration) -> Result<(), Invalid> {
        let micros = Micros::setting("some.span", span)?;
        if micros > Micros::from_duration(HOUR) {
            let rule = "must be an hour at most";
            return Err(Invalid::new("some.span", micros.as_micros(), " µs", rule));
        }
        Ok(())
    }
    let end = HOUR + Duration::from_micros(1);
    is_refused_at_its_ends(("some.span", true, end, at_most_an_hour));
}

fn is_refused_at_its_ends((field, zero, end, set): Setting) {
    let nano = Duration::from_nanos(1);
    for span in [Duration::from_micros(10), MILLI, end - nano] {
        assert_eq!(set(span), Ok(()), "{field} = {span:?}");
    }
    for span in [end, end + nano, END, END + nano, Duration::MAX] {
        let refused = set(span).expect_err(field);
        assert_eq!(refused.field(), field, "{span:?}");
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        assert_eq!(refused.value(), micros, "{field} says another value than it was given");
        assert_eq!(refused.unit(), " µs", "{field}");
        let of_all = refused.rule().contains("less than 2^48 µs");
        assert!(of_all || end < END, "{refused}");
        assert!(!of_all || span >= END, "{refused}, which has a bound of its own");
    }
    match set(Duration::ZERO) {
        Ok(()) => assert!(zero, "{field} takes zero, which means nothing there"),
        Err(refused) => {
            assert!(!zero, "{refused}");
            assert_eq!((refused.field(), refused.value()), (field, 0));
        }
    }
}

/// Less than the clock can tell is no time at all, and must not pass for some.
#[test]
fn what_rounds_to_zero_is_refused_like_zero() {
    for (field, zero, _, set) in SETTINGS.into_iter().chain(LINK) {
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
