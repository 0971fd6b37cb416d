//! This file knows what an attempt's future is told of it.

use evenkeel_std::core::{Attempt, Deadline, Instant, Target};

/// An attempt, as a copy that its future may keep.
///
/// The [`Attempt`] itself is used once and stays with the driver. Lent to the future it would tie
/// it to a lifetime, and rustc then takes no future with a reference in it for `Send`: a call could
/// not borrow a client and run on a runtime with several threads.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct AttemptInfo {
    deadline: Deadline,
    started: Instant,
    number: u16,
    target: Target,
}

impl AttemptInfo {
    /// Where it goes.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// From when on its answer is too late; its future is dropped then.
    pub const fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// 1 for the first attempt. A transparent repetition keeps the number of what it repeats.
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// How many attempts of the call came before; gRPC's `grpc-previous-rpc-attempts`.
    pub const fn previous(&self) -> u16 {
        self.number.saturating_sub(1)
    }

    /// When it was started.
    pub const fn started(&self) -> Instant {
        self.started
    }
}

impl From<&Attempt> for AttemptInfo {
    fn from(attempt: &Attempt) -> Self {
        Self {
            deadline: attempt.deadline(),
            started: attempt.started(),
            number: attempt.number(),
            target: attempt.target(),
        }
    }
}
