//! This file knows what to say of those who could not be asked.

use std::sync::Arc;

use evenkeel_tokio::core::Attempt;
use tonic::Status;

use super::{MethodUpstream, Way};
use crate::connect::{DialError, NotConnected};
use crate::error::{NoHealthyTargets, innermost};

impl<S> MethodUpstream<S> {
    /// Who could have been asked, and what is known against each.
    pub(crate) fn nobody(&self) -> NoHealthyTargets {
        match &self.way {
            Way::One { .. } => NoHealthyTargets::among([(self.settings.target.to_string(), None)]),
            Way::Pool(pooled) => NoHealthyTargets::among(pooled.pool().list().known()),
        }
    }

    /// The same, of a call whose deadline has come, if that is what it waited for: it has found
    /// nobody, or was `lost` on a member without a connection and there is none to any yet.
    pub(crate) fn unready(&self, lost: Option<&Status>) -> Option<NoHealthyTargets> {
        let is_waiting = match lost {
            None => self.found_nobody(),
            Some(lost) => {
                let list = self.pool()?.list();
                NotConnected::of(lost).is_some()
                    && !list.members().any(|member| member.line.is_connected())
            }
        };
        is_waiting.then(|| self.nobody())
    }

    /// Of an attempt whose time is up: if the connection it needs is still being made, where to, and
    /// how the dial before that one failed. Then nothing was sent there.
    pub(crate) fn unsent(&self, attempt: &Attempt) -> Option<Unsent> {
        let (place, is_making, failure) = self.connection(attempt)?;
        let connecting = is_making.then(|| Arc::clone(place))?;
        let unconnected = failure.map(|failure| innermost(&failure));
        Some(Unsent { connecting: Some(connecting), unconnected })
    }

    /// The same of one that waited for a connection until then, after it was `lost` without one.
    pub(crate) fn never_connected(&self, attempt: &Attempt, lost: Option<&Status>) -> Unsent {
        let mut unsent = self.unsent(attempt).unwrap_or_default();
        if unsent.unconnected.is_none() {
            let failure = self.connection(attempt).and_then(|(_, _, failure)| failure);
            let told = failure.map(|failure| innermost(&failure));
            unsent.unconnected = told.or_else(|| lost.map(|lost| innermost(lost)));
        }
        unsent
    }

    /// Where `attempt` goes, whether the connection to there is being made, and how the last dial
    /// failed, if none has made one since; as far as anybody tells.
    fn connection(&self, attempt: &Attempt) -> Option<(&Arc<str>, bool, Option<DialError>)> {
        let since = attempt.started();
        if let Some(member) = self.member(attempt) {
            let line = &member.line;
            return Some((&member.name, line.is_making(since), line.last_failure()));
        }
        let told = self.settings.connectivity.as_ref()?;
        Some((&self.settings.target, told.is_making(since), told.last_failure()))
    }
}

/// Why an attempt was not sent.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    /// The place it was to go to, where the connection was still being made.
    pub(crate) connecting: Option<Arc<str>>,
    /// What was last heard of a dial.
    pub(crate) unconnected: Option<String>,
}
