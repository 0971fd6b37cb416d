//! This file knows how a breaker shows itself. Looking changes nothing.

use core::fmt;

use super::{CircuitBreaker, State};
use crate::{Instant, Trip};

/// The state of a breaker, without its facts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum BreakerState {
    /// Lets everything through and counts.
    Closed,
    /// Lets everything through and counts nothing, because somebody said so.
    ForcedClosed,
    /// Lets nothing through, because somebody said so.
    ForcedOpen,
    /// Lets trials through.
    HalfOpen,
    /// Lets nothing through before its time; from then on the next admission is a trial.
    Open,
}

impl BreakerState {
    /// The name used in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::ForcedClosed => "forced-closed",
            Self::ForcedOpen => "forced-open",
            Self::HalfOpen => "half-open",
            Self::Open => "open",
        }
    }
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A change of state; what a step returns, never called back.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Transition {
    /// It closed: enough trials succeeded, or it was reset.
    Closed,
    /// Somebody disabled it.
    ForcedClosed,
    /// Somebody forced it open.
    ForcedOpen,
    /// Its open time is over and the first trial was let through.
    HalfOpened,
    /// It opened, or a trial failed and it opened again.
    Opened,
}

impl Transition {
    /// The state it led to.
    pub const fn state(self) -> BreakerState {
        match self {
            Self::Closed => BreakerState::Closed,
            Self::ForcedClosed => BreakerState::ForcedClosed,
            Self::ForcedOpen => BreakerState::ForcedOpen,
            Self::HalfOpened => BreakerState::HalfOpen,
            Self::Opened => BreakerState::Open,
        }
    }
}

/// What a breaker looks like at one moment.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Snapshot {
    /// The state. An open breaker whose time is over still shows `Open`: only an admission
    /// half-opens it.
    pub state: BreakerState,
    /// Closed: the bad calls counted so far. Open: those that opened it, 1 after a failed trial.
    /// Otherwise 0. Stays at 65,535.
    pub failures: u16,
    /// When it last opened, while open or half-open.
    pub opened_at: Option<Instant>,
    /// When a trial may be let through, while open.
    pub retry_at: Option<Instant>,
    /// Trials under way, while half-open. A lost one counts until the next admission.
    pub trials: u8,
    /// How often in a row a failed trial has opened it again; stays at 255.
    pub reopenings: u8,
}

impl<T: Trip> CircuitBreaker<T> {
    /// The state.
    pub const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::ForcedClosed { .. } => BreakerState::ForcedClosed,
            State::ForcedOpen { .. } => BreakerState::ForcedOpen,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
            State::Open { .. } => BreakerState::Open,
        }
    }

    /// What it looks like now.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            state: self.state(),
            failures: 0,
            opened_at: None,
            retry_at: None,
            trials: 0,
            reopenings: 0,
        };
        match &self.state {
            State::Closed { memory, .. } => snapshot.failures = T::bad(memory),
            State::ForcedClosed { .. } | State::ForcedOpen { .. } => {}
            State::HalfOpen { reopenings, trials, opened_at, .. } => {
                snapshot.reopenings = *reopenings;
                snapshot.trials = *trials;
                snapshot.opened_at = Some(*opened_at);
            }
            State::Open { reopenings, failures, opened_at, retry_at, .. } => {
                snapshot.reopenings = *reopenings;
                snapshot.failures = *failures;
                snapshot.opened_at = Some(*opened_at);
                snapshot.retry_at = Some(*retry_at);
            }
        }
        snapshot
    }
}
