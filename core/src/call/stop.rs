//! This file knows how a call keeps the reason it ended for.

use super::Call;
use crate::{Instant, Micros, Refusal, StopReason};

/// [`StopReason`] in one byte; what a reason carries is in the call's `wake`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) enum Stop {
    AttemptsUsedUp,
    Cancelled,
    CircuitOpen,
    DeadlinePassed,
    DeadlineWouldPass,
    HintTooLong,
    NoTarget,
    NotIdempotent,
    NotReplayable,
    NotRetryable,
    PushedBack,
    Succeeded,
    Throttled,
}

impl<const IN_FLIGHT: usize> Call<IN_FLIGHT> {
    pub(super) const fn keep(&mut self, reason: StopReason) -> Stop {
        match reason {
            StopReason::AttemptsUsedUp => Stop::AttemptsUsedUp,
            StopReason::Cancelled => Stop::Cancelled,
            StopReason::CircuitOpen { retry_at } => {
                self.wake = retry_at;
                Stop::CircuitOpen
            }
            StopReason::DeadlinePassed => Stop::DeadlinePassed,
            StopReason::DeadlineWouldPass => Stop::DeadlineWouldPass,
            StopReason::HintTooLong { hint } => {
                self.wake = Instant::from_micros(hint.as_micros());
                Stop::HintTooLong
            }
            StopReason::NoTarget => Stop::NoTarget,
            StopReason::NotIdempotent => Stop::NotIdempotent,
            StopReason::NotReplayable => Stop::NotReplayable,
            StopReason::NotRetryable => Stop::NotRetryable,
            StopReason::PushedBack => Stop::PushedBack,
            StopReason::Succeeded => Stop::Succeeded,
            StopReason::Throttled => Stop::Throttled,
        }
    }

    pub(super) const fn reason(&self, stop: Stop) -> StopReason {
        match stop {
            Stop::AttemptsUsedUp => StopReason::AttemptsUsedUp,
            Stop::Cancelled => StopReason::Cancelled,
            Stop::CircuitOpen => StopReason::CircuitOpen { retry_at: self.wake },
            Stop::DeadlinePassed => StopReason::DeadlinePassed,
            Stop::DeadlineWouldPass => StopReason::DeadlineWouldPass,
            Stop::HintTooLong => {
                StopReason::HintTooLong { hint: Micros::from_micros(self.wake.as_micros()) }
            }
            Stop::NoTarget => StopReason::NoTarget,
            Stop::NotIdempotent => StopReason::NotIdempotent,
            Stop::NotReplayable => StopReason::NotReplayable,
            Stop::NotRetryable => StopReason::NotRetryable,
            Stop::PushedBack => StopReason::PushedBack,
            Stop::Succeeded => StopReason::Succeeded,
            Stop::Throttled => StopReason::Throttled,
        }
    }
}

impl From<Refusal> for StopReason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::CircuitOpen { retry_at } => Self::CircuitOpen { retry_at },
            Refusal::NoTarget => Self::NoTarget,
        }
    }
}
