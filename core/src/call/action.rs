//! This file knows what a call asks its driver to do, and what it answers.

use crate::{Because, Deadline, Instant, StopReason, Target};

/// The one thing to do next.
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a call goes on only when its action is carried out"]
pub enum Action {
    /// Send the request to [`Attempt::target`] and [`complete`](crate::Call::complete) the
    /// attempt with what came of it, before [`Attempt::deadline`].
    Attempt(Attempt),
    /// Return: the last reply or error, and why there will be no other. Final, and stays final.
    Finish(StopReason),
    /// Poll again at this instant, which is always later than `now`, or when an attempt has been
    /// completed; a call that [waits for a target](crate::Call::wait_for_ready) also when eligibility
    /// changes. [`Instant::MAX`]: only then.
    WaitUntil(Instant),
}

/// One attempt that may go out.
///
/// Only a call makes one, and it is used once. It fits the call that gave it: of several under way,
/// keep each beside its own call, and drop it with it. Another call may take it for its own.
///
/// A driver that loses it costs its target no more than the attempt's deadline; without a limit for
/// the attempt or the call it is waited for without end.
///
/// ```
/// use evenkeel_core::{Action, Call, CallPolicy, Deadline, Instant, Micros, Single};
///
/// let policy = CallPolicy::DEFAULT.unbounded();
/// let (mut peer, now) = (Single::new(&policy), Instant::ZERO);
/// let mut call = Call::new(policy.deadline(now, Deadline::NONE), 7);
/// let Action::Attempt(lost) = call.poll(now, &mut peer) else { panic!() };
/// drop(lost);
/// let next_day = now + Micros::from_millis(24 * 3_600_000);
/// assert_eq!(call.poll(next_day, &mut peer), Action::WaitUntil(Instant::MAX));
/// ```
///
/// ```compile_fail
/// use evenkeel_core::Attempt;
///
/// let forge = |info| Attempt(info);
/// ```
#[derive(Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "an attempt that is not completed is waited for until its deadline, if it has one"]
pub struct Attempt(pub(super) AttemptInfo);

impl Attempt {
    /// All there is to know of it, as a copy that the attempt's future may keep.
    pub const fn info(&self) -> AttemptInfo {
        self.0
    }

    /// As [`AttemptInfo::target`].
    pub const fn target(&self) -> Target {
        self.0.target
    }

    /// As [`AttemptInfo::deadline`].
    pub const fn deadline(&self) -> Deadline {
        self.0.deadline
    }

    /// As [`AttemptInfo::number`].
    pub const fn number(&self) -> u16 {
        self.0.number
    }

    /// As [`AttemptInfo::previous`].
    pub const fn previous(&self) -> u16 {
        self.0.previous()
    }

    /// As [`AttemptInfo::started`].
    pub const fn started(&self) -> Instant {
        self.0.started
    }

    pub(super) const fn id(&self) -> u16 {
        self.0.id
    }
}

/// What there is to know of an attempt; it completes nothing, and may be copied.
///
/// The [`Attempt`] itself is used once and stays with the driver. Lent to an attempt's future it
/// would tie it to a lifetime, and rustc then takes no future with a reference in it for `Send`: a
/// call could not borrow a client and run on a runtime with several threads.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AttemptInfo {
    pub(super) deadline: Deadline,
    pub(super) started: Instant,
    /// Tells the attempts of one call apart, transparent ones included.
    pub(super) id: u16,
    pub(super) number: u16,
    pub(super) target: Target,
}

impl AttemptInfo {
    /// Where it goes.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// From when on its answer is too late, and its future may be dropped. Never later than the
    /// call's deadline.
    pub const fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// How many attempts count so far, this one included: 1 for the first. A transparent
    /// repetition keeps the number of what it repeats; with hedges in flight, that of the latest.
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

/// What follows the end of an attempt.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Next {
    /// Another attempt.
    Retry {
        /// When it starts.
        at: Instant,
        /// Why then.
        because: Because,
    },
    /// The call goes on as before: other attempts are under way, or the answer was too late to
    /// matter.
    StillTrying,
    /// The call is over.
    Stop(StopReason),
}
