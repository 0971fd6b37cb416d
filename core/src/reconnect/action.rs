//! This file knows what a link asks its driver to do.

use crate::{Deadline, Instant};

/// The one thing to do next.
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a link comes up only when its action is carried out"]
pub enum ReconnectAction {
    /// Dial, and say what came of it by [`Dial::deadline`].
    Dial(Dial),
    /// Dialling has not helped for a while: do this, then poll again. It is said once for each
    /// rung; what it takes is part of the wait.
    Escalate(Escalation),
    /// The give-up window is over. Final, and stays final. To begin again, make a new
    /// [`Reconnect`](crate::Reconnect).
    GiveUp,
    /// Poll again at this instant, always later than `now`, or when something has happened.
    /// [`Instant::MAX`]: only when something has happened.
    WaitUntil(Instant),
}

/// One dial that may go out.
///
/// Only a link makes one, and it is used once. It fits the link that gave it: of several, keep each
/// beside its own link, and drop it with it. Another link may take it for its own. A driver that loses
/// it loses no more than the time to its deadline.
///
/// ```compile_fail
/// use evenkeel_core::Dial;
///
/// let forged = Dial { number: 1 };
/// ```
#[derive(Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a dial that is not reported is waited for until its deadline"]
pub struct Dial {
    pub(super) deadline: Instant,
    pub(super) number: u16,
}

impl Dial {
    /// From when on it has failed: name look-up, connecting and logging in, all together.
    pub const fn deadline(&self) -> Deadline {
        Deadline::at(self.deadline)
    }

    /// How many dials there were since boot, this one included; wraps after 65,535.
    pub const fn number(&self) -> u16 {
        self.number
    }
}

/// What the end of a dial or of a session led to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Setback {
    /// Failed dials and sessions that were too short, in a row; 0 when a proven session ended.
    /// Stays at 65,535.
    pub failures: u16,
    /// When the next dial starts; [`Instant::MAX`] when there will be none.
    pub dial_at: Instant,
}

/// What a device can do when dialling again does not help.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Escalation {
    /// Start over from the reset vector.
    Reboot,
    /// Switch modem, radio or network controller off and on: it may be in a state that no driver
    /// call gets it out of.
    ResetPeripheral,
}

/// One step of the escalation ladder.
///
/// The rungs are climbed in order while failures follow each other; the last one comes again every
/// [`after`](Self::after) failures. A session that proved itself starts at the foot.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Rung {
    /// How many failures after the rung before, 1 at least.
    pub after: u16,
    /// What is to be done.
    pub step: Escalation,
}

impl Rung {
    /// [`Escalation::ResetPeripheral`] after so many more failures.
    pub const fn reset_peripheral(after: u16) -> Self {
        Self { after, step: Escalation::ResetPeripheral }
    }

    /// [`Escalation::Reboot`] after so many more failures.
    pub const fn reboot(after: u16) -> Self {
        Self { after, step: Escalation::Reboot }
    }
}
