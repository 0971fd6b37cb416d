//! This file knows random walks: settings and moves no complete search could afford.

use core::fmt::Debug;
use core::time::Duration;

use evenkeel_core::{BreakerPolicy, BreakerState, Consecutive, LastN, TimeWindow, Trip, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::world::World;
use super::{Setting, Step, TICK};
use crate::model::ledger::Terms;
use crate::model::rule::Rule;
use crate::model::world::Draws;

/// One move of a walk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// Ask for leave until this much later.
    Admit(Option<u64>),
    /// The clock goes back.
    Back(u64),
    /// A person interferes.
    Force(BreakerState),
    /// A permit is lost.
    Lose(usize),
    /// Time passes.
    Pass(u64),
    /// An attempt ends.
    Record(usize, Verdict),
    /// A trial is said to be under way.
    Renew(usize),
}

/// Settings of any of the three rules, and where to go.
#[derive(Clone, Debug)]
pub struct Walk {
    terms: Terms,
    rule: Rule,
    moves: Vec<Move>,
}

/// Any walk of up to 60 moves.
pub fn any_walk() -> impl Strategy<Value = Walk> {
    (any_terms(), any_rule(), vec(any_move(), 0..60)).prop_map(|(terms, rule, moves)| Walk {
        terms,
        rule,
        moves,
    })
}

impl Walk {
    /// The walk that bytes describe.
    pub(crate) fn read(draws: &mut Draws<'_>) -> Self {
        let (terms, rule) = draws.one((any_terms(), any_rule()));
        Self { terms, rule, moves: draws.rest(any_move()) }
    }

    /// Holds every answer against the ledger, and shows every step to `law`.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub fn every_step(
        &self,
        law: &mut dyn FnMut(&Terms, &Step) -> Result<(), String>,
    ) -> Result<(), String> {
        let valid = "the rules of a walk are in range";
        match self.rule {
            Rule::Consecutive { threshold, .. } => {
                self.go(Consecutive::new(threshold).expect(valid), law)
            }
            Rule::LastN { n, min_calls, percent, .. } => {
                let (n, min_calls) = (n as u16, min_calls as u16);
                self.go(LastN::<4>::new(n, min_calls, percent as u8).expect(valid), law)
            }
            Rule::Window { bucket, min_calls, percent, .. } => {
                let span = Duration::from_micros(bucket * 5);
                let rule = TimeWindow::<5>::new(span, min_calls as u32, percent as u8);
                self.go(rule.expect(valid), law)
            }
        }
    }

    fn go<T: Trip + Debug + PartialEq>(
        &self,
        trip: T,
        law: &mut dyn FnMut(&Terms, &Step) -> Result<(), String>,
    ) -> Result<(), String> {
        let setting = self.setting(trip);
        let mut world = World::new(&setting);
        for to in &self.moves {
            let Some((_, step, end)) = world.go(&setting, *to)? else { continue };
            end.compare(&step).map_err(|fault| format!("{fault}\nin {step:?}"))?;
            law(&self.terms, &step).map_err(|fault| format!("{fault}\nin {step:?}"))?;
            world = end;
        }
        let (_, step, _) = world.ask_later(&setting.policy);
        law(&self.terms, &step)
    }

    fn setting<T: Trip>(&self, trip: T) -> Setting<T> {
        let valid = "the terms of a walk are in range";
        let micros = Duration::from_micros;
        let Terms { open_for, max_open, max_trials, successes } = self.terms.clone();
        let policy = BreakerPolicy::new(trip)
            .with_open_for(micros(open_for))
            .and_then(|policy| policy.with_max_trials(max_trials as u8))
            .and_then(|policy| policy.with_successes_to_close(successes));
        let mut policy = policy.expect(valid);
        if max_open != open_for {
            policy = policy.with_growth(2_000, micros(max_open)).expect(valid);
        }
        Setting {
            policy,
            terms: self.terms.clone(),
            rule: self.rule.clone(),
            permits: 8,
            leases: Vec::new(),
            verdicts: Vec::new(),
            forced: true,
            past: 0,
            depth: 0,
        }
    }
}

fn any_terms() -> impl Strategy<Value = Terms> {
    let spans = select(vec![0, 1, 999_999, 1_000_000, 3 * TICK]);
    (spans, select(vec![None, Some(1_000_000), Some(9_999_999)]), 1..4usize, 1..4u8).prop_map(
        |(open_for, grown, max_trials, successes)| {
            let max_open = grown.unwrap_or(open_for);
            Terms { open_for, max_open, max_trials, successes }
        },
    )
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let percent = select(vec![1, 33, 50, 99, 100]);
    prop_oneof![
        (1..4u16).prop_map(|threshold| Rule::Consecutive { threshold, failures: 0 }),
        (1..7usize, 1..7usize, percent.clone()).prop_map(|(n, min, percent)| {
            let seen = Default::default();
            Rule::LastN { n, min_calls: min.min(n), percent, seen }
        }),
        (select(vec![1, TICK]), 1..5usize, percent).prop_map(|(bucket, min_calls, percent)| {
            Rule::Window { bucket, buckets: 5, min_calls, percent, seen: Vec::new() }
        }),
    ]
}

fn any_move() -> impl Strategy<Value = Move> {
    let spans = select(vec![0, 1, TICK - 1, TICK, 2 * TICK, 999_999, 1_000_000, 9_999_999]);
    let verdict = select(vec![
        Verdict::Failure,
        Verdict::Failure,
        Verdict::SlowFailure,
        Verdict::Success,
        Verdict::SlowSuccess,
        Verdict::Ignored,
    ]);
    let state =
        select(vec![BreakerState::Closed, BreakerState::ForcedClosed, BreakerState::ForcedOpen]);
    prop_oneof![
        8 => proptest::option::of(spans.clone()).prop_map(Move::Admit),
        8 => (0..8usize, verdict).prop_map(|(which, verdict)| Move::Record(which, verdict)),
        5 => spans.clone().prop_map(Move::Pass),
        1 => spans.prop_map(Move::Back),
        1 => (0..8usize).prop_map(Move::Lose),
        1 => (0..8usize).prop_map(Move::Renew),
        1 => state.prop_map(Move::Force),
    ]
}
