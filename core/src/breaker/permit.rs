//! This file knows leave for one attempt, its refusal, and the epochs that tell old leave from
//! current.

use core::fmt;

use super::Transition;
use crate::Instant;
use crate::words::NextTry;

/// Leave for one attempt; give it back with [`CircuitBreaker::record`](crate::CircuitBreaker::record).
///
/// A breaker makes it; [`UNTRACKED`](Self::UNTRACKED) is for where there is none. Losing it is
/// harmless: its lease ends, with a [`Call`](crate::Call) a second after the attempt's deadline, or
/// without one after the breaker's open time, a second at least.
#[derive(Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a permit that is not recorded is a trial that is waited for"]
pub struct Permit {
    epoch: u32,
    half_opened: bool,
}

impl Permit {
    /// Leave that no breaker gave and none remembers: for targets without a breaker.
    pub const UNTRACKED: Self = Self { epoch: UNTRACKED, half_opened: false };

    /// What giving it changed: the first trial of a period half-opens the breaker.
    pub const fn transition(&self) -> Option<Transition> {
        if self.half_opened { Some(Transition::HalfOpened) } else { None }
    }

    /// What is stored of it: with [`of_epoch`](Self::of_epoch) the attempt can be booked, and what
    /// giving it changed is no longer known.
    pub(crate) const fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) const fn of_epoch(epoch: u32) -> Self {
        Self { epoch, half_opened: false }
    }

    pub(super) const fn half_opening(epoch: u32) -> Self {
        Self { epoch, half_opened: true }
    }
}

/// The breaker refused an attempt.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Rejected {
    /// When it is worth asking again: when the open time ends, or, while trials are under way,
    /// when their lease does. [`Instant::MAX`] when it was forced open.
    pub retry_at: Instant,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit breaker is open, {}", NextTry(self.retry_at))
    }
}

impl core::error::Error for Rejected {}

/// The epoch after `epoch`. Equality is all that matters, so it may wrap; it skips the one value
/// that untracked permits carry.
#[cfg_attr(target_pointer_width = "32", inline(never))]
pub(crate) const fn next_epoch(epoch: u32) -> u32 {
    match epoch.wrapping_add(1) {
        UNTRACKED => 0,
        next => next,
    }
}

const UNTRACKED: u32 = u32::MAX;
