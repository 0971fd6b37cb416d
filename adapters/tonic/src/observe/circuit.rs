//! This file knows how a change of a circuit breaker is told in metrics: from where, to where, and
//! why.

use std::sync::Arc;

use evenkeel_tokio::core::{BreakerState, Snapshot, Transition};
use evenkeel_tokio::{AnyRule, Handle};

use super::view::View;

/// What a breaker went through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Change {
    pub(super) from: BreakerState,
    pub(super) to: BreakerState,
    pub(super) cause: &'static str,
}

impl Change {
    /// Of a breaker that looks like `after` since. (Another call may have changed it again; the
    /// worst of that is a trial's failure told as a new one.)
    const fn of(transition: Transition, after: &Snapshot) -> Self {
        let (from, cause) = match transition {
            Transition::Opened if after.reopenings > 0 => (BreakerState::HalfOpen, "trial_failed"),
            Transition::Opened => (BreakerState::Closed, "failures"),
            Transition::HalfOpened => (BreakerState::Open, "time_over"),
            Transition::Closed => (BreakerState::HalfOpen, "trials_succeeded"),
            // Only a hand does that, and it says what was before.
            Transition::ForcedClosed | Transition::ForcedOpen => (BreakerState::Closed, BY_HAND),
        };
        Self { from, to: transition.state(), cause }
    }
}

impl View {
    /// The breaker of this method at `member` changed.
    pub(crate) fn turned(
        &self,
        member: &Arc<str>,
        transition: Transition,
        breaker: &Handle<AnyRule>,
    ) {
        if let Some(meters) = &self.meters {
            let change = Change::of(transition, &breaker.snapshot());
            self.observing.sheltered(|| meters.turned(member, change));
        }
    }

    /// The breaker of this method at `member` let nobody through.
    pub(crate) fn refused(&self, member: &Arc<str>) {
        if let Some(meters) = &self.meters {
            self.observing.sheltered(|| meters.refused(member));
        }
    }

    /// Somebody set it by hand.
    pub(crate) fn set_by_hand(
        &self,
        member: &Arc<str>,
        from: BreakerState,
        transition: Transition,
    ) {
        if let Some(meters) = &self.meters {
            let change = Change { from, to: transition.state(), cause: BY_HAND };
            self.observing.sheltered(|| meters.turned(member, change));
        }
    }
}

const BY_HAND: &str = "by_hand";
