//! This file knows one word for everything a step can return, for logs, metrics and simulators.
//!
//! Machines return what they changed and call nothing back; whoever drives them turns it into an
//! event once nothing is lent any more.

use crate::{
    BudgetExhausted, HealthChange, Next, OutlierChange, Rejected, Setback, StopReason, Transition,
};

/// Something that happened in a step.
///
/// ```
/// use evenkeel_core::{Event, StopReason, Transition};
///
/// assert_eq!(Event::from(Transition::Opened), Event::Breaker(Transition::Opened));
/// assert_eq!(Event::from(StopReason::Succeeded), Event::Stopped(StopReason::Succeeded));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Event {
    /// A breaker changed its state.
    Breaker(Transition),
    /// A request's time was spent before a call was made.
    Budget(BudgetExhausted),
    /// An attempt ended; this is what follows.
    Ended(Next),
    /// A target's health bit was set or flipped.
    Health(HealthChange),
    /// A target left the rotation because of its calls, or came back.
    Outlier(OutlierChange),
    /// A dial failed or a session ended; this is what it led to.
    Link(Setback),
    /// A breaker refused an attempt.
    Rejected(Rejected),
    /// A call goes no further.
    Stopped(StopReason),
}

impl From<Transition> for Event {
    fn from(transition: Transition) -> Self {
        Self::Breaker(transition)
    }
}

impl From<BudgetExhausted> for Event {
    fn from(exhausted: BudgetExhausted) -> Self {
        Self::Budget(exhausted)
    }
}

impl From<Next> for Event {
    fn from(next: Next) -> Self {
        Self::Ended(next)
    }
}

impl From<HealthChange> for Event {
    fn from(change: HealthChange) -> Self {
        Self::Health(change)
    }
}

impl From<OutlierChange> for Event {
    fn from(change: OutlierChange) -> Self {
        Self::Outlier(change)
    }
}

impl From<Setback> for Event {
    fn from(setback: Setback) -> Self {
        Self::Link(setback)
    }
}

impl From<Rejected> for Event {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl From<StopReason> for Event {
    fn from(reason: StopReason) -> Self {
        Self::Stopped(reason)
    }
}
