//! Who is ejected from a fleet, and for how long: G85, and gRFC A50's other edges.

use core::time::Duration;

use evenkeel_core::{
    EjectionPolicy, FailurePercentage, Instant, Outlier, OutlierChange, OutlierSweep, Standing,
    SuccessRate, Target,
};

use crate::policies::ms;

/// A fleet whose calls are counted elsewhere, and the sweeps over it.
struct Swept {
    policy: EjectionPolicy,
    sweep: OutlierSweep,
    now: Instant,
    targets: Vec<Outlier>,
}

impl Swept {
    fn new(targets: usize, policy: EjectionPolicy) -> Self {
        let now = Instant::from_micros(7_000_000);
        let sweep = OutlierSweep::starting(now, &policy);
        Self { policy, sweep, now, targets: vec![Outlier::new(); targets] }
    }

    /// An interval in which the targets had these successes and failures; what the sweep changed.
    fn interval(&mut self, calls: &[(u32, u32)]) -> Vec<(u16, OutlierChange)> {
        for (target, (successes, failures)) in self.targets.iter_mut().zip(calls) {
            target.add(*successes, *failures);
        }
        self.now = self.sweep.due();
        let mut changes = Vec::new();
        let told = |target: Target, change| changes.push((target.number(), change));
        self.sweep.run(self.now, &mut self.targets, &self.policy, |_| true, told);
        changes
    }

    fn is_out(&self, target: usize) -> bool {
        self.targets[target].standing(self.now) == Standing::Suspect
    }
}

fn failure_percentage(max_percent: u8) -> EjectionPolicy {
    EjectionPolicy::DEFAULT.without_success_rate().with_max_percent(max_percent).unwrap()
}

fn success_rate(max_percent: u8) -> EjectionPolicy {
    EjectionPolicy::DEFAULT.without_failure_percentage().with_max_percent(max_percent).unwrap()
}

const GOOD: (u32, u32) = (100, 0);

#[test]
fn g85_exactly_the_threshold_is_not_above_it() {
    for (failures, changes) in [(85, vec![]), (86, vec![(0, OutlierChange::Ejected)])] {
        let mut fleet = Swept::new(5, failure_percentage(100));
        let calls = [(100 - failures, failures), GOOD, GOOD, GOOD, GOOD];
        assert_eq!(fleet.interval(&calls), changes, "{failures} of 100");
    }
}

#[test]
fn too_few_calls_or_targets_prove_nothing() {
    let mut fleet = Swept::new(5, failure_percentage(100));
    assert_eq!(fleet.interval(&[(0, 49), GOOD, GOOD, GOOD, GOOD]), [], "49 of 50 calls");
    assert_eq!(fleet.interval(&[(0, 50), GOOD, GOOD, GOOD, (49, 0)]), [], "4 of 5 targets");
    // What was counted for one sweep is not counted for the next.
    assert_eq!(fleet.interval(&[(0, 49), GOOD, GOOD, GOOD, GOOD]), []);
    let mut fleet = Swept::new(5, success_rate(100));
    assert_eq!(fleet.interval(&[(0, 99), GOOD, GOOD, GOOD, GOOD]), [], "99 of 100 calls");
    assert_eq!(fleet.interval(&[(0, 100), GOOD, GOOD, GOOD, (99, 0)]), [], "4 of 5 targets");
}

/// Six targets: with one odd one out among n, it is √(n − 1) standard deviations from the mean.
#[test]
fn the_odd_one_out_is_ejected_by_its_success_rate() {
    let mut fleet = Swept::new(6, success_rate(100));
    let calls = [GOOD, GOOD, (90, 10), GOOD, GOOD, GOOD];
    assert_eq!(fleet.interval(&calls), [(2, OutlierChange::Ejected)]);
    // Two of five are 1.2 from the mean: not 1.9.
    let mut fleet = Swept::new(5, success_rate(100));
    assert_eq!(fleet.interval(&[GOOD, (50, 50), (50, 50), GOOD, GOOD]), []);
    let strict = success_rate(100).with_success_rate(SuccessRate::new(1_000, 5, 100).unwrap());
    let mut fleet = Swept::new(5, strict);
    let out = |target| (target, OutlierChange::Ejected);
    assert_eq!(fleet.interval(&[GOOD, (50, 50), (50, 50), GOOD, GOOD]), [out(1), out(2)]);
    // A fleet that is bad altogether has no odd one out.
    let mut fleet = Swept::new(5, success_rate(100));
    assert_eq!(fleet.interval(&[(1, 99); 5]), []);
}

#[test]
fn one_may_always_be_ejected_and_the_last_one_never() {
    let broken = [(0, 100); 10];
    for (max_percent, ejected) in [(0, 1), (10, 1), (19, 1), (20, 2), (99, 9), (100, 9)] {
        let mut fleet = Swept::new(10, failure_percentage(max_percent));
        assert_eq!(fleet.interval(&broken).len(), ejected, "{max_percent} %");
    }
    // Those that a health check keeps out cannot be the last ones.
    let mut fleet = Swept::new(5, failure_percentage(100));
    fleet.targets.iter_mut().for_each(|target| target.add(0, 100));
    fleet.now = fleet.sweep.due();
    let mut ejected = Vec::new();
    let healthy = |target: Target| target.number() == 4;
    let told = |target: Target, _| ejected.push(target.number());
    fleet.sweep.run(fleet.now, &mut fleet.targets, &fleet.policy, healthy, told);
    assert_eq!(ejected, [0, 1, 2, 3]);
    assert!(!fleet.is_out(4));
}

#[test]
fn an_ejection_ends_by_the_clock_and_not_by_a_sweep() {
    let mut fleet = Swept::new(5, failure_percentage(100));
    fleet.interval(&[(0, 100), GOOD, GOOD, GOOD, GOOD]);
    let until = fleet.now + ms(30_000);
    assert_eq!(fleet.targets[0].until(), until);
    fleet.now = Instant::from_micros(until.as_micros() - 1);
    assert!(fleet.is_out(0));
    fleet.now = until;
    assert!(!fleet.is_out(0));
}

#[test]
fn a_sweep_before_its_time_changes_nothing() {
    let mut fleet = Swept::new(5, failure_percentage(100));
    fleet.targets[0].add(0, 100);
    fleet.targets[1..].iter_mut().for_each(|target| target.add(100, 0));
    let (before, early) = (fleet.targets.clone(), fleet.now + ms(9_999));
    let sweep = &mut fleet.sweep;
    sweep.run(early, &mut fleet.targets, &fleet.policy, |_| true, |_, _| panic!("told"));
    assert_eq!(fleet.targets, before);
    assert_eq!(fleet.interval(&[]).len(), 1, "nothing was forgotten");
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let policy = EjectionPolicy::DEFAULT;
    let base = Duration::from_secs(1);
    let fields = [
        policy.with_interval(Duration::ZERO).unwrap_err().field(),
        policy.with_times(Duration::ZERO, base).unwrap_err().field(),
        policy.with_times(base, Duration::MAX).unwrap_err().field(),
        policy.with_max_percent(101).unwrap_err().field(),
        SuccessRate::new(1_000_001, 5, 100).unwrap_err().field(),
        FailurePercentage::new(101, 5, 50).unwrap_err().field(),
        FailurePercentage::new(85, 0, 50).unwrap_err().field(),
        SuccessRate::new(1_900, 5, 0).unwrap_err().field(),
    ];
    let names = fields.map(|field| field.strip_prefix("balancing.ejection.").unwrap());
    let expected = [
        "interval",
        "base_time",
        "max_time",
        "max_percent",
        "stdev_factor",
        "failure_threshold",
        "failure_min_hosts",
        "success_rate_min_requests",
    ];
    assert_eq!(names, expected);
}
