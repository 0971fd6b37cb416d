//! The laws of a breaker, in every state it can reach.
//!
//! Four small settings are searched: every state of the breaker together with the permits that
//! are out, to the end (a time window twelve steps deep, because it counts without end). Every
//! answer on the way is held against a ledger (`model::ledger`), and the laws are asked of every
//! single step; then of random walks, with all rules and clocks that go back.

use core::fmt::Debug;
use core::time::Duration;
use std::sync::OnceLock;

use evenkeel_core::{
    BreakerPolicy, BreakerState, CircuitBreaker, Code, CodeSet, Consecutive, Deadline, Gate,
    Instant, LastN, Micros, Outcome, Passage, Report, Snapshot, TimeWindow, Transition, Trip,
    Verdict, Weight, checked,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::breaker::{Op, Setting, Step, TICK, any_walk, every_step};
use evenkeel_tests::model::ledger::Terms;
use evenkeel_tests::model::on_random;
use evenkeel_tests::model::rule::Rule;

const TERMS: Terms = Terms { open_for: 2 * TICK, max_open: 2 * TICK, max_trials: 1, successes: 1 };

fn setting<T: Trip>(trip: T, rule: Rule) -> Setting<T> {
    let open_for = Duration::from_micros(TERMS.open_for);
    Setting {
        policy: BreakerPolicy::new(trip).with_open_for(open_for).unwrap(),
        terms: TERMS,
        rule,
        permits: 3,
        leases: vec![Some(1), Some(3), None],
        verdicts: vec![Verdict::Success, Verdict::Failure, Verdict::Ignored],
        forced: false,
        past: 0,
        depth: usize::MAX,
    }
}

/// Two failures in a row, one trial, and people who interfere.
fn forced() -> Setting<Consecutive> {
    let rule = Rule::Consecutive { threshold: 2, failures: 0 };
    Setting { forced: true, ..setting(checked!(Consecutive::new(2)), rule) }
}

/// One failure, two trials at a time, two successes, open times that double.
fn growing() -> Setting<Consecutive> {
    let rule = Rule::Consecutive { threshold: 1, failures: 0 };
    let plain = setting(checked!(Consecutive::new(1)), rule);
    let max_open = Duration::from_micros(4 * TICK);
    let policy = plain.policy.with_max_trials(2).unwrap().with_successes_to_close(2).unwrap();
    Setting {
        policy: policy.with_growth(2_000, max_open).unwrap(),
        terms: Terms { max_open: 4 * TICK, max_trials: 2, successes: 2, ..TERMS },
        permits: 3,
        leases: vec![Some(1), Some(3)],
        ..plain
    }
}

/// Half of the last four calls, at least two.
fn last_n() -> Setting<LastN> {
    let seen = std::collections::VecDeque::new();
    let rule = Rule::LastN { n: 4, min_calls: 2, percent: 50, seen };
    Setting { leases: vec![Some(1)], ..setting(checked!(LastN::new(4, 2, 50)), rule) }
}

/// Half of the calls of three ticks, at least two.
fn window() -> Setting<TimeWindow<3>> {
    let rule =
        Rule::Window { bucket: TICK, buckets: 3, min_calls: 2, percent: 50, seen: Vec::new() };
    let span = Duration::from_micros(3 * TICK);
    let trip = TimeWindow::new(span, 2, 50).unwrap();
    Setting { leases: vec![Some(1)], permits: 1, past: 8 * TICK, depth: 12, ..setting(trip, rule) }
}

/// Asks `law` of every step of every setting (searched once), then of the steps of random walks.
/// It answers whether it had anything to say, so that a law about nothing is noticed.
fn on_steps(law: impl Fn(&Terms, &Step) -> Result<bool, String>) {
    static STEPS: OnceLock<Vec<(Terms, Vec<Step>)>> = OnceLock::new();
    let searched = STEPS.get_or_init(|| {
        vec![
            collect(&forced(), (213, 3_075)),
            collect(&growing(), (607, 6_745)),
            collect(&last_n(), (405, 4_444)),
            collect(&window(), (947, 2_581)),
        ]
    });
    let mut cases = 0;
    for (terms, steps) in searched {
        for step in steps {
            match law(terms, step) {
                Ok(applies) => cases += u32::from(applies),
                Err(fault) => panic!("{fault}\nin {step:?}"),
            }
        }
    }
    assert!(cases > 100, "only {cases} cases");
    on_random(any_walk(), |walk| {
        walk.every_step(&mut |terms, step| law(terms, step).map(drop))
            .map_err(|fault| format!("{fault}\non {walk:?}"))
    });
}

/// A changed number of states is a changed machine: look at it, then write the new one down.
fn collect<T: Trip + Debug + PartialEq>(
    setting: &Setting<T>,
    expected: (usize, usize),
) -> (Terms, Vec<Step>) {
    let mut steps = Vec::new();
    let extent = every_step(setting, &mut |step| steps.push(step));
    let extent = extent.unwrap_or_else(|fault| panic!("{fault}"));
    println!("{extent:?} with {:?}", setting.policy.trip());
    assert_eq!((extent.states, extent.steps), expected);
    (setting.terms.clone(), steps)
}

#[test]
fn open_admits_nobody_before_retry_at() {
    on_steps(|terms, step| {
        let (before, after) = (&step.before, &step.after);
        ensure!((before.state == BreakerState::Open) == before.retry_at.is_some(), "no time");
        let Some(retry_at) = before.retry_at.map(Instant::as_micros) else {
            if let (Some(opened_at), Some(retry_at)) = (after.opened_at, after.retry_at) {
                ensure!(opened_at.as_micros() == step.now, "opened at another time");
                let due = step.now + terms.open_time(after.reopenings);
                ensure!(retry_at.as_micros() == due, "{due} is due");
            }
            return Ok(false);
        };
        if after.state == BreakerState::Open {
            ensure!(before == after, "an open period does not move");
        }
        let due = if step.now < retry_at { Err(retry_at) } else { Ok(()) };
        ensure!(step.op != Op::Admit || step.admitted == Some(due), "{due:?} is due");
        Ok(step.op == Op::Admit)
    });
}

#[test]
fn trials_never_exceed_their_limit() {
    // The ledger counts trials by itself, and is compared with what is shown.
    on_steps(|terms, step| {
        ensure!(usize::from(step.after.trials) <= terms.max_trials, "too many");
        let full = usize::from(step.before.trials) == terms.max_trials;
        let applies = full && !step.lost && step.op == Op::Admit;
        let refused = matches!(step.admitted, Some(Err(at)) if at > step.now) && step.unchanged;
        ensure!(!applies || refused, "not a refusal that changes nothing");
        Ok(applies)
    });
}

#[test]
fn a_lost_trial_frees_itself() {
    on_steps(|_, step| {
        // Whatever has been lost, a long silence ends in leave.
        let silent = step.op == Op::AskLater && step.before.state != BreakerState::ForcedOpen;
        ensure!(!silent || step.admitted == Some(Ok(())), "refused for ever");
        let applies = step.lost && step.op == Op::Admit;
        let freed = step.admitted == Some(Ok(())) && step.after.trials == 1;
        ensure!(!applies || freed, "the lost trial counts");
        Ok(applies)
    });
}

#[test]
fn stragglers_change_nothing() {
    on_steps(|_, step| {
        let stale = matches!(step.op, Op::Record { stale: true, .. } | Op::Renew { stale: true });
        ensure!(!stale || (step.unchanged && step.changed.is_none()), "a straggler counts");
        Ok(stale)
    });
}

#[test]
fn cancellation_is_no_verdict() {
    on_steps(|_, step| {
        let Op::Record { verdict: Verdict::Ignored, stale } = step.op else { return Ok(false) };
        ensure!(step.changed.is_none(), "it changed something");
        if stale || step.before.state != BreakerState::HalfOpen {
            ensure!(step.unchanged, "it counts");
            return Ok(false);
        }
        let freed = Snapshot { trials: step.before.trials - 1, ..step.before };
        ensure!(step.after == freed, "more than the slot is given back, or less");
        Ok(true)
    });
    // And what a call books of an attempt that was given up, or that a caller cancelled, is none.
    let policy = BreakerPolicy::DEFAULT.with_failures(CodeSet::of(&Code::ALL));
    for (code, weight) in Code::ALL.iter().flat_map(|code| {
        [Weight::Cancelled, Weight::Transparent, Weight::CutShort].map(|weight| (*code, weight))
    }) {
        let report = Report { outcome: Outcome::new(code), took: Micros::ZERO, weight };
        assert_eq!(policy.verdict(&report), Verdict::Ignored, "{report:?}");
    }
    let outcome = Outcome::new(Code::Cancelled);
    let report = Report { outcome, took: Micros::ZERO, weight: Weight::Counts };
    assert_eq!(policy.verdict(&report), Verdict::Ignored);
}

#[test]
fn getters_change_nothing() {
    // Open, and past the time of its trial: where a curious getter does the most harm.
    let policy = forced().policy;
    let (start, mut breaker) = (Instant::from_micros(7), CircuitBreaker::new());
    for _ in 0..2 {
        let permit = breaker.admit(start, Deadline::NONE, &policy).unwrap();
        breaker.record(start, permit, Verdict::Failure, &policy);
    }
    let now = start + Micros::from_micros(TERMS.open_for);
    let before = breaker.clone();
    for _ in 0..1_000 {
        let shown = (breaker.snapshot(), breaker.state(), format!("{breaker:?}"));
        assert_eq!(shown.1, BreakerState::Open);
        assert_eq!(shown, (breaker.snapshot(), breaker.state(), format!("{breaker:?}")));
        assert!(breaker.is_protecting() && !breaker.is_clean());
        assert_eq!(Gate::of(&breaker).admit(now), Passage::Ask);
    }
    assert_eq!(breaker, before);
    let trial = breaker.admit(now, Deadline::NONE, &policy).unwrap();
    assert_eq!(trial.transition(), Some(Transition::HalfOpened));
    assert!(breaker.admit(now, Deadline::NONE, &policy).is_err());
}

#[test]
fn closed_lets_everybody_through() {
    on_steps(|_, step| {
        let applies = step.op == Op::Admit && step.before.state == BreakerState::Closed;
        let granted = step.admitted == Some(Ok(())) && step.unchanged;
        ensure!(!applies || granted, "not leave that changes nothing");
        Ok(applies)
    });
}

/// Whoever interferes is told what that changed, and nothing the second time.
#[test]
fn a_person_is_told_once_what_changed() {
    let mut breaker = CircuitBreaker::new();
    assert_eq!(breaker.reset(), None, "it was closed");
    assert_eq!(breaker.force_open(), Some(Transition::ForcedOpen));
    assert_eq!(breaker.force_open(), None);
    assert_eq!(breaker.force_closed(), Some(Transition::ForcedClosed));
    assert_eq!(breaker.force_closed(), None);
    assert_eq!(breaker.reset(), Some(Transition::Closed));
    assert_eq!(breaker.reset(), None);
}
