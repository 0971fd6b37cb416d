//! A shared breaker answers exactly as the plain one it is made of, and a rule chosen at run time
//! as the rule itself, whatever happens to both: 160 scripts of 200 steps for each of ten pairs,
//! with permits outstanding.

use std::collections::HashSet;

use evenkeel_std::core::{
    AnyOf, Bad, BreakerPolicy, BreakerState, CircuitBreaker, Consecutive, Deadline, Instant, LastN,
    Micros, Permit, TimeWindow, Transition, Trip, Verdict, checked,
};
use evenkeel_std::{AnyRule, SharedBreaker};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const FEW: Consecutive = checked!(Consecutive::new(2));
const LAST: LastN = checked!(LastN::new(6, 3, 50));
const LASTS: AnyOf<LastN, LastN> = AnyOf { first: LAST, second: LAST.counting(Bad::SlowCalls) };
const WINDOW: TimeWindow = checked!(TimeWindow::new(core::time::Duration::from_secs(2), 3, 50));
const WINDOWS: AnyOf<TimeWindow, TimeWindow> =
    AnyOf { first: WINDOW, second: WINDOW.counting(Bad::SlowCalls) };

#[test]
fn failures_in_a_row() {
    answers_alike(&policy(FEW), &policy(FEW));
}

#[test]
fn a_share_of_the_last_calls() {
    answers_alike(&policy(LAST), &policy(LAST));
}

#[test]
fn a_share_of_the_last_seconds() {
    answers_alike(&policy(WINDOW), &policy(WINDOW));
}

#[test]
fn a_share_of_failures_or_of_slow_calls() {
    answers_alike(&policy(LASTS), &policy(LASTS));
    answers_alike(&policy(WINDOWS), &policy(WINDOWS));
}

#[test]
fn a_rule_chosen_at_run_time() {
    answers_alike(&policy(FEW), &AnyRule::policy(policy(FEW)));
    answers_alike(&policy(LAST), &AnyRule::policy(policy(LAST)));
    answers_alike(&policy(LASTS), &AnyRule::policy(policy(LASTS)));
    answers_alike(&policy(WINDOW), &AnyRule::policy(policy(WINDOW)));
    answers_alike(&policy(WINDOWS), &AnyRule::policy(policy(WINDOWS)));
}

/// Quick to open and to come back, and everything that can be told apart is in use: growth,
/// jitter, more than one trial, more than one success to close.
fn policy<T: Trip>(rule: T) -> BreakerPolicy<T> {
    let policy = BreakerPolicy::new(rule).with_open_for(OPEN_FOR).unwrap();
    let policy = policy.with_growth(1_500, 4 * OPEN_FOR).unwrap().with_open_jitter(200, 7).unwrap();
    policy.with_max_trials(2).unwrap().with_successes_to_close(2).unwrap()
}

const OPEN_FOR: core::time::Duration = core::time::Duration::from_secs(1);

#[derive(Clone, Debug)]
enum Step {
    Admit {
        lease_ms: Option<u16>,
    },
    Forget(usize),
    ForceClosed,
    ForceOpen,
    Record(usize, Verdict),
    Renew(usize),
    Reset,
    Sleep {
        micros: u32,
    },
    /// To the end of the open time, less or more one microsecond.
    SleepToTheEdge {
        past: i8,
    },
}

impl Step {
    fn of(random: u32) -> Self {
        let (kind, argument) = (random % 100, random >> 8);
        match kind {
            0..35 => Self::Admit {
                lease_ms: u16::try_from(argument % 3_000).ok().filter(|ms| *ms > 999),
            },
            35..70 => Self::Record(argument as usize, Verdict::ALL[(random >> 28) as usize % 5]),
            70..80 => Self::Sleep { micros: argument % 1_000_000 },
            80..90 => Self::SleepToTheEdge { past: [-1, 0, 1][argument as usize % 3] },
            90..94 => Self::Renew(argument as usize),
            94..96 => Self::Forget(argument as usize),
            96..98 => Self::Reset,
            98 => Self::ForceClosed,
            _ => Self::ForceOpen,
        }
    }
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    let random = prop::collection::vec(any::<u32>(), 200);
    random.prop_map(|random| random.into_iter().map(Step::of).collect())
}

/// Runs the scripts, and checks that they got into every state and through every change of it.
fn answers_alike<T: Trip, U: Trip>(plain: &BreakerPolicy<T>, shared: &BreakerPolicy<U>) {
    let seen = core::cell::RefCell::new((HashSet::new(), HashSet::new()));
    let config = Config { cases: 160, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&script(), |script| {
            let mut both = Both::new(plain, shared);
            for step in &script {
                both.step(step);
                both.look_alike();
                let (states, changes) = &mut *seen.borrow_mut();
                states.insert(both.plain.state());
                changes.extend(both.changed.take());
            }
            Ok(())
        })
        .unwrap();
    let (states, changes) = seen.into_inner();
    assert_eq!(states.len(), 5, "{states:?}");
    assert_eq!(changes.len(), 5, "{changes:?}");
    assert!(states.contains(&BreakerState::HalfOpen));
}

struct Both<'a, T: Trip, U: Trip> {
    plain: CircuitBreaker<T>,
    plain_policy: &'a BreakerPolicy<T>,
    shared: SharedBreaker<U>,
    shared_policy: &'a BreakerPolicy<U>,
    now: Instant,
    /// The outstanding ones, as each gave them.
    permits: Vec<(Permit, Permit)>,
    changed: Option<Transition>,
}

impl<'a, T: Trip, U: Trip> Both<'a, T, U> {
    fn new(plain_policy: &'a BreakerPolicy<T>, shared_policy: &'a BreakerPolicy<U>) -> Self {
        Self {
            plain: CircuitBreaker::closed(),
            plain_policy,
            shared: SharedBreaker::closed(),
            shared_policy,
            now: Instant::ZERO,
            permits: Vec::new(),
            changed: None,
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Admit { lease_ms } => self.admit(lease_ms),
            Step::Forget(which) => drop(self.take(which)),
            Step::ForceClosed => {
                self.change(CircuitBreaker::force_closed, SharedBreaker::force_closed);
            }
            Step::ForceOpen => self.change(CircuitBreaker::force_open, SharedBreaker::force_open),
            Step::Record(which, verdict) => self.record(which, verdict),
            Step::Renew(which) => {
                if let Some((plain, shared)) = self.take(which) {
                    self.plain.renew(self.now, &plain, self.plain_policy);
                    self.shared.renew(self.now, &shared, self.shared_policy);
                    self.permits.push((plain, shared));
                }
            }
            Step::Reset => self.change(CircuitBreaker::reset, SharedBreaker::reset),
            Step::Sleep { micros } => self.now = self.now + Micros::from_micros(micros.into()),
            Step::SleepToTheEdge { past } => {
                if let Some(edge) = self.plain.snapshot().retry_at {
                    let edge = edge.as_micros().saturating_add_signed(past.into());
                    self.now = self.now.max(Instant::from_micros(edge));
                }
            }
        }
    }

    fn admit(&mut self, lease_ms: Option<u16>) {
        let lease = lease_ms.map_or(Deadline::NONE, |lease| {
            Deadline::at(self.now + Micros::from_millis(lease.into()))
        });
        let plain = self.plain.admit(self.now, lease, self.plain_policy);
        let shared = self.shared.admit(self.now, lease, self.shared_policy);
        assert_eq!(plain, shared, "the same leave, or the same refusal");
        if let (Ok(plain), Ok(shared)) = (plain, shared) {
            self.changed = plain.transition();
            self.permits.push((plain, shared));
        }
    }

    fn record(&mut self, which: usize, verdict: Verdict) {
        if let Some((plain, shared)) = self.take(which) {
            self.changed = self.plain.record(self.now, plain, verdict, self.plain_policy);
            let changed = self.shared.record(self.now, shared, verdict, self.shared_policy);
            assert_eq!(self.changed, changed, "the same change");
        }
    }

    fn change(
        &mut self,
        plain: impl FnOnce(&mut CircuitBreaker<T>) -> Option<Transition>,
        shared: impl FnOnce(&SharedBreaker<U>) -> Option<Transition>,
    ) {
        self.changed = plain(&mut self.plain);
        assert_eq!(self.changed, shared(&self.shared), "the same change");
    }

    fn take(&mut self, which: usize) -> Option<(Permit, Permit)> {
        let index = which.checked_rem(self.permits.len())?;
        Some(self.permits.swap_remove(index))
    }

    fn look_alike(&self) {
        assert_eq!(self.plain.snapshot(), self.shared.snapshot());
        assert_eq!(self.plain.is_clean(), self.shared.is_clean());
    }
}
