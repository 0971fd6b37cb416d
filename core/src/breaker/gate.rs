//! This file knows what a breaker's state answers without looking at the breaker.
//!
//! A server shares a breaker between threads as one atomic word beside the plain value in a
//! mutex. The word, a [`Gate`], answers what happens all the time (closed and healthy; open) with
//! one load and no store; everything else takes the lock. This file only encodes and decodes:
//! the atomic itself lives in the adapter.

use super::{CircuitBreaker, Permit, Rejected, State};
use crate::num::widen;
use crate::{Instant, Trip, Verdict};

/// The part of a breaker's state that fits one word.
///
/// ```text
///   63 62 61                    30 29        0
///   0  0  epoch                    0 quiet, 1 not      closed
///   0  1  retry_at in µs (62 bits, all ones: never)    open
///   1  0  -                                            ask the breaker
/// ```
///
/// So one comparison tells closed ones from others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Gate(u64);

/// What a gate answers to a request for leave.
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Passage {
    /// The breaker itself must be asked.
    Ask,
    /// Leave, as the breaker would have given it.
    Granted(Permit),
    /// Refused, as the breaker would have.
    Refused(Rejected),
}

impl Gate {
    /// The gate of `breaker` as it is now.
    pub fn of<T: Trip>(breaker: &CircuitBreaker<T>) -> Self {
        match &breaker.state {
            State::Closed { epoch, memory } => {
                let busy = u64::from(!T::is_quiet(memory));
                Self(Self::quiet(*epoch).0 | busy)
            }
            State::Open { retry_at, .. } if retry_at.as_micros() < TIME_MASK => {
                Self(OPEN | retry_at.as_micros())
            }
            State::ForcedOpen { .. } => Self(OPEN | TIME_MASK),
            // An instant that does not fit is left to the breaker: it is late, not "never".
            State::Open { .. } | State::HalfOpen { .. } | State::ForcedClosed { .. } => Self(ASK),
        }
    }

    /// The word to store.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The gate a stored word stands for.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// What the breaker would answer to [`admit`](CircuitBreaker::admit), where that is certain.
    #[inline]
    pub const fn admit(self, now: Instant) -> Passage {
        if self.0 < OPEN {
            return Passage::Granted(Permit::of_epoch(self.epoch()));
        }
        let retry_at = self.retry_at();
        if self.0 < ASK && now.as_micros() < retry_at.as_micros() {
            return Passage::Refused(Rejected { retry_at });
        }
        Passage::Ask
    }

    /// Whether [`record`](CircuitBreaker::record) would certainly change nothing: a success on a
    /// quiet breaker, a straggler, or no verdict.
    #[inline]
    pub const fn ignores(self, permit: &Permit, verdict: Verdict) -> bool {
        // Asked of every call; what follows would come to the same.
        if self.0 == Self::quiet(permit.epoch()).0 && matches!(verdict, Verdict::Success) {
            return true;
        }
        if self.0 < OPEN {
            permit.epoch() != self.epoch() || matches!(verdict, Verdict::Ignored)
        } else {
            self.0 < ASK
        }
    }

    /// Closed, and nothing counted.
    const fn quiet(epoch: u32) -> Self {
        Self(widen(epoch) << EPOCH_SHIFT)
    }

    #[expect(clippy::as_conversions, reason = "the upper half of the word is dropped on purpose")]
    const fn epoch(self) -> u32 {
        (self.0 >> EPOCH_SHIFT) as u32
    }

    const fn retry_at(self) -> Instant {
        match self.0 & TIME_MASK {
            TIME_MASK => Instant::MAX,
            micros => Instant::from_micros(micros),
        }
    }
}

const TAG_MASK: u64 = 0b11 << 62;
const OPEN: u64 = 0b01 << 62;
const ASK: u64 = 0b10 << 62;
const TIME_MASK: u64 = !TAG_MASK;
const EPOCH_SHIFT: u32 = 30;
