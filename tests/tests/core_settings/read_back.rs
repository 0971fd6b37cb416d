//! This file knows that what was set is what is read, and that defaults are the documented ones.

use core::time::Duration;

use evenkeel_core::{
    AnyOf, Backoff, Bad, Balancer, BreakerPolicy, BreakerTable, BudgetPolicy, CallPolicy,
    CircuitBreaker, Clock, Code, CodeSet, Consecutive, EjectionPolicy, FailurePercentage, Health,
    HealthPolicy, Instant, Jitter, LastN, Members, Micros, OutlierPolicy, ReconnectPolicy,
    RetryPolicy, Rung, Standing, Strategy, SuccessRate, Target, ThrottlePolicy, TimeWindow,
    Unimplemented, WEIGHT_ONE,
};
use evenkeel_tests::model::settings::JITTERS;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn span(seconds: u64) -> Micros {
    Micros::from_millis(seconds * 1_000)
}

#[test]
fn calls_and_retries() {
    let codes = CodeSet::of(&[Code::Aborted]);
    let backoff = Backoff::new(secs(3), secs(4)).unwrap();
    let retry = RetryPolicy::DEFAULT.with_max_attempts(7).unwrap().with_codes(codes);
    let retry = retry.with_backoff(backoff).with_max_hint(secs(5)).unwrap().not_idempotent();
    assert_eq!((retry.max_attempts(), retry.codes()), (7, codes));
    assert_eq!((retry.backoff(), retry.max_hint()), (&backoff, span(5)));
    assert!(!retry.is_idempotent() && retry.idempotent().is_idempotent());
    let call = CallPolicy::DEFAULT.with_retry(retry).with_timeout(secs(1)).unwrap();
    let call = call.with_attempt_timeout(secs(2)).unwrap().with_hedge_after(secs(6)).unwrap();
    assert_eq!((call.retry(), call.timeout()), (&retry, span(1)));
    assert_eq!((call.attempt_timeout(), call.hedge_after()), (span(2), span(6)));
    assert_eq!(
        (call.unbounded().timeout(), call.unbounded().attempt_timeout()),
        (Micros::MAX, span(2))
    );
    assert_eq!(
        (call.endless().timeout(), call.endless().attempt_timeout()),
        (Micros::MAX, Micros::MAX)
    );
    assert_eq!(call.with_short_slice(secs(8)).unwrap().short_slice(), span(8));
}

#[test]
fn waits() {
    for shape in JITTERS {
        let backoff = Backoff::new(secs(1), secs(9)).unwrap().with_jitter(shape).unwrap();
        assert_eq!((backoff.jitter(), backoff.initial()), (shape, span(1)));
        assert_eq!(backoff.max(), span(9));
    }
    // To the digit, though it is kept as another fraction.
    for thousandths in (1_000..4_000).chain([9_999, 65_534_999, 65_535_000]) {
        let backoff = Backoff::DEFAULT.with_multiplier(thousandths).unwrap();
        assert_eq!(backoff.multiplier(), thousandths);
    }
}

/// What is written down as a constant is what its setters would make of it.
#[test]
fn defaults_are_what_their_setters_make() {
    let hundred = Backoff::DEFAULT.with_jitter(Jitter::Proportional(100)).unwrap();
    assert_eq!(hundred.with_multiplier(2_000).unwrap(), Backoff::DEFAULT);
    let grpc = Backoff::new(secs(1), secs(120)).unwrap().with_multiplier(1_600).unwrap();
    assert_eq!(grpc.with_jitter(Jitter::Proportional(200)).unwrap(), Backoff::CONNECTION);
    let off = RetryPolicy::DEFAULT.with_max_attempts(1).unwrap().with_codes(CodeSet::EMPTY);
    assert_eq!(off, RetryPolicy::OFF);
    assert_eq!(Micros::SETTING_END.as_micros(), 281_474_976_710_656, "8.9 years");
}

#[test]
fn breakers() {
    let trip = Consecutive::new(3).unwrap();
    assert_eq!(trip.threshold(), 3);
    let policy = BreakerPolicy::new(trip).with_open_for(secs(2)).unwrap();
    let policy = policy.with_max_trials(4).unwrap().with_successes_to_close(5).unwrap();
    assert_eq!((policy.trip(), policy.open_for()), (&trip, span(2)));
    assert_eq!((policy.max_trials(), policy.successes_to_close()), (4, 5));
    // Another rule changes the rule and nothing else.
    let other = LastN::DEFAULT.counting(Bad::SlowCalls);
    let changed = policy.with_trip(other);
    assert_eq!((changed.trip(), changed.open_for()), (&other, span(2)));
    assert_eq!(changed.with_trip(trip), policy);
    assert_eq!((policy.failures(), policy.slow_after()), (CodeSet::FAILURES, Micros::MAX));
    let codes = CodeSet::of(&[Code::Aborted]);
    let judging = policy.with_failures(codes).with_slow_after(secs(7)).unwrap();
    assert_eq!((judging.failures(), judging.slow_after()), (codes, span(7)));
    assert_eq!((policy.growth(), policy.max_open()), (1_000, Micros::SETTING_END));
    let growing = policy.with_growth(2_000, secs(60)).unwrap();
    assert_eq!((growing.growth(), growing.max_open()), (2_000, span(60)));
    for thousandths in 0..=1_000 {
        let spread = policy.with_open_jitter(thousandths, 1).unwrap();
        assert_eq!(spread.open_jitter(), u32::from(thousandths));
    }
    assert_eq!(growing.with_trip(other).with_trip(trip), growing);
}

#[test]
fn windows() {
    let last = LastN::<4>::new(9, 8, 7).unwrap().counting(Bad::SlowCalls);
    assert_eq!((last.n(), last.min_calls(), last.percent()), (9, 8, 7));
    assert_eq!(last.bad(), Bad::SlowCalls);
    let time = TimeWindow::<10>::new(secs(2), 8, 7).unwrap().counting(Bad::SlowCalls);
    assert_eq!((time.window(), time.min_calls(), time.percent()), (span(2), 8, 7));
    assert_eq!(time.bad(), Bad::SlowCalls);
    let odd = TimeWindow::<10>::new(Duration::from_micros(1_009), 1, 50).unwrap();
    assert_eq!(odd.window(), Micros::from_micros(1_000), "a hundred for each bucket");
}

#[test]
fn budgets_and_throttles() {
    let budget = BudgetPolicy::DEFAULT.with_safety_margin(secs(1)).unwrap();
    let budget = budget.with_min_timeout(secs(2)).unwrap();
    assert_eq!((budget.safety_margin(), budget.min_timeout()), (span(1), span(2)));
    let throttle = ThrottlePolicy::grpc(10, 100).unwrap();
    assert_eq!((throttle.max_millitokens(), throttle.ratio()), (10_000, 100));
}

#[test]
fn health_and_outliers() {
    let health = HealthPolicy::DEFAULT.with_interval(secs(1)).unwrap();
    let health = health.with_timeout(secs(2)).unwrap().with_max_backoff(secs(3)).unwrap();
    let health = health.with_unimplemented(Unimplemented::Unhealthy);
    assert_eq!((health.interval(), health.timeout()), (span(1), span(2)));
    assert_eq!(health.max_backoff(), span(3));
    assert_eq!(health.unimplemented(), Unimplemented::Unhealthy);
    let health = health.with_counts(5, 6).unwrap();
    assert_eq!((health.rise(), health.fall()), (5, 6));
    let ejection = EjectionPolicy::DEFAULT.with_interval(secs(4)).unwrap();
    let ejection = ejection.with_times(secs(2), secs(5)).unwrap();
    assert_eq!(ejection.interval(), span(4));
    // Twice the base, then the longest; a longest below the base is the base.
    assert_eq!([1, 2, 3, 255].map(|nth| ejection.time(nth)), [2, 4, 5, 5].map(span));
    assert_eq!(ejection.with_times(secs(9), secs(5)).unwrap().time(4), span(9));
    assert_eq!((ejection.base_time(), ejection.max_time()), (span(2), span(5)));
    assert_eq!(ejection.with_max_percent(77).unwrap().max_percent(), 77);
    let outlier = OutlierPolicy::OFF.with_quarantine(secs(6)).unwrap().with_ejection(ejection);
    assert_eq!((outlier.quarantine(), outlier.ejection()), (span(6), Some(&ejection)));
    let without = ejection.without_success_rate().without_failure_percentage();
    assert_eq!((without.success_rate(), without.failure_percentage()), (None, None));
    let (rate, share) = (ejection.success_rate().unwrap(), ejection.failure_percentage().unwrap());
    assert_eq!((rate, share), (&SuccessRate::DEFAULT, &FailurePercentage::DEFAULT));
    let rate = SuccessRate::new(7, 2, 3).unwrap();
    assert_eq!((rate.factor(), rate.min_hosts(), rate.min_requests()), (7, 2, 3));
    let share = FailurePercentage::new(4, 5, 6).unwrap();
    assert_eq!((share.threshold(), share.min_hosts(), share.min_requests()), (4, 5, 6));
    let with = without.with_success_rate(SuccessRate::DEFAULT);
    assert_eq!(with.with_failure_percentage(FailurePercentage::DEFAULT), ejection);
}

#[test]
fn links() {
    static LADDER: [Rung; 2] = [Rung::reset_peripheral(3), Rung::reboot(4)];
    let backoff = Backoff::new(secs(3), secs(4)).unwrap();
    let link = ReconnectPolicy::DEFAULT.with_splay(secs(1)).unwrap();
    let link = link.with_backoff(backoff).unwrap().with_stable_after(secs(2)).unwrap();
    let link = link.with_dial_timeout(secs(5)).unwrap().with_max_hint(secs(6)).unwrap();
    let link = link.with_give_up_after(secs(7)).unwrap().with_ladder(&LADDER).unwrap();
    assert_eq!((link.splay(), link.backoff()), (span(1), &backoff));
    assert_eq!((link.stable_after(), link.dial_timeout()), (span(2), span(5)));
    assert_eq!((link.max_hint(), link.give_up_after()), (span(6), span(7)));
    assert_eq!(link.ladder(), LADDER);
}

#[test]
fn a_default_is_the_documented_one() {
    assert_eq!(Backoff::default(), Backoff::DEFAULT);
    assert_eq!(BreakerPolicy::<Consecutive>::default(), BreakerPolicy::DEFAULT);
    assert_eq!(BudgetPolicy::default(), BudgetPolicy::DEFAULT);
    assert_eq!(EjectionPolicy::default(), EjectionPolicy::DEFAULT);
    assert_eq!(Health::default(), Health::new());
    assert_eq!(HealthPolicy::default(), HealthPolicy::DEFAULT);
    assert_eq!(OutlierPolicy::default(), OutlierPolicy::DEFAULT);
    assert_eq!(ReconnectPolicy::default(), ReconnectPolicy::DEFAULT);
    assert_eq!(RetryPolicy::default(), RetryPolicy::DEFAULT);
    assert_eq!(ThrottlePolicy::default(), ThrottlePolicy::DEFAULT);
    assert_eq!(ThrottlePolicy::DEFAULT, ThrottlePolicy::success_refilled(10, 100).unwrap());
    assert_eq!(CircuitBreaker::<Consecutive>::default(), CircuitBreaker::closed());
    let rules = AnyOf { first: LastN::DEFAULT, second: TimeWindow::DEFAULT };
    assert_eq!(AnyOf::<LastN, TimeWindow>::default(), rules);
    assert!(BreakerTable::<u8, 2>::default().is_empty());
}

/// What is borrowed answers like what it borrows.
#[test]
fn borrowed_members_and_clocks() {
    struct Two;
    impl Members for Two {
        fn count(&self) -> u16 {
            2
        }
        fn standing(&self, _: Target) -> Standing {
            Standing::Up
        }
        fn weight(&self, target: Target) -> u32 {
            u32::from(target == Target::ONLY) + 4
        }
        fn in_flight(&self, _: Target) -> u32 {
            7
        }
    }
    struct Plain;
    impl Members for Plain {
        fn count(&self) -> u16 {
            1
        }
        fn standing(&self, _: Target) -> Standing {
            Standing::Up
        }
    }
    fn all(members: &impl Members) -> (u16, u32, u32) {
        (members.count(), members.weight(Target::ONLY), members.in_flight(Target::ONLY))
    }
    assert_eq!(all(&&Two), all(&Two));
    assert_eq!(all(&Two), (2, 5, 7));
    assert_eq!(all(&Plain), (1, WEIGHT_ONE, 0));
    assert_eq!(Balancer::new(Strategy::Weighted).strategy(), Strategy::Weighted);
    let clock = Instant::from_micros(5);
    assert_eq!(Clock::now(&&clock), clock);
}
