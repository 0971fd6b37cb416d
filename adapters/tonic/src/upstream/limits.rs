//! This file knows what a call is held to by its settings, in the words of its error: whose time it
//! has, and whether it is retried at all.

use super::{MethodUpstream, Retries};
use crate::error::{Never, TimeLimit};

/// What a call has its deadline of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Bound {
    /// The task's budget.
    Budget,
    /// The request itself.
    Caller,
    /// The method's policy.
    Timeout,
}

impl<S> MethodUpstream<S> {
    /// What the call has its deadline of, as its error says it.
    pub(crate) fn limit(&self) -> TimeLimit {
        match self.bound {
            Bound::Budget => TimeLimit::RequestBudget,
            Bound::Caller => TimeLimit::Caller,
            Bound::Timeout => TimeLimit::Timeout(self.method.policy.timeout()),
        }
    }

    /// Where it was said that nothing is retried, if it was.
    pub(crate) fn never(&self) -> Option<Never> {
        // A hedge has codes of its own, and it may have none.
        let has_none = self.method.policy.retry().codes().is_empty();
        match (self.retries, has_none && self.method.hedged.is_none()) {
            (Retries::AsConfigured, false) => None,
            (Retries::Off, false) => Some(Never::Call),
            (_, true) if self.settings.retry.is_some() => Some(Never::Method),
            (_, true) => Some(Never::Client),
        }
    }
}
