//! This file knows how a call keeps the reason it ended for.

use super::Call;
use crate::retry::Stop;
use crate::{Micros, Refusal, StopReason};

impl<const IN_FLIGHT: usize> Call<IN_FLIGHT> {
    /// What `stop` says; what a reason carries is in `wake`.
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
