//! This file knows every state a breaker can reach together with the permits that are out.

mod walk;
mod world;

use core::fmt::Debug;

use evenkeel_core::{BreakerPolicy, BreakerState, Snapshot, Transition, Trip, Verdict};

pub use self::walk::{Walk, any_walk};
use self::world::World;
use super::ledger::Terms;
use super::rule::Rule;
use super::search::{Extent, search};

/// The time step of a search, in microseconds; all spans are multiples of it, so that every edge
/// is met exactly.
pub const TICK: u64 = 500_000;

/// A breaker to search.
#[derive(Clone, Debug)]
pub struct Setting<T: Trip> {
    /// The policy under test.
    pub policy: BreakerPolicy<T>,
    /// The same in plain numbers.
    pub terms: Terms,
    /// Its rule.
    pub rule: Rule,
    /// The most permits out at a time.
    pub permits: usize,
    /// The leases asked for, in ticks; `None` has no end.
    pub leases: Vec<Option<u64>>,
    /// The verdicts given.
    pub verdicts: Vec<Verdict>,
    /// Whether people interfere.
    pub forced: bool,
    /// How long ago, in microseconds, something can have happened and still decide.
    pub past: u64,
    /// How many steps deep to go; where nothing accumulates without time passing, all the way.
    pub depth: usize,
}

/// What was done in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Asked for leave.
    Admit,
    /// Asked, in thought only, what a long silence would lead to.
    AskLater,
    /// A person interfered.
    Force(BreakerState),
    /// A permit was lost.
    Lose,
    /// The clock moved.
    Pass,
    /// An attempt ended; `stale` when the period of its permit was over.
    Record {
        /// How it ended.
        verdict: Verdict,
        /// Whether its period was over.
        stale: bool,
    },
    /// A trial was said to be under way.
    Renew {
        /// Whether its period was over.
        stale: bool,
    },
}

/// One step, as anybody can see it.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was done.
    pub op: Op,
    /// When.
    pub now: u64,
    /// What the breaker showed.
    pub before: Snapshot,
    /// What it shows.
    pub after: Snapshot,
    /// What an admission answered: leave, or when to ask again.
    pub admitted: Option<Result<(), u64>>,
    /// What a result, or a person, changed.
    pub changed: Option<Transition>,
    /// Whether the breaker is equal to what it was, hidden facts included.
    pub unchanged: bool,
    /// Whether all trials had lost their lease.
    pub lost: bool,
}

/// Searches `setting`, holds every answer against the ledger, and hands every step to `visit`.
///
/// # Errors
///
/// The first fault, with the shortest way to it.
pub fn every_step<T: Trip + Debug + PartialEq>(
    setting: &Setting<T>,
    visit: &mut dyn FnMut(Step),
) -> Result<Extent, String> {
    let key = |world: &World<T>| world.key(setting);
    search(World::new(setting), setting.depth, key, |world, reached| {
        for (name, step, end) in world.steps(setting)? {
            let fault = |fault| format!("{fault}\nin {step:?}");
            end.compare(&step).map_err(fault)?;
            visit(step);
            reached(name, end);
        }
        Ok(())
    })
}
