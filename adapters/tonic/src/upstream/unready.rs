//! This file knows what to say of those who could not be asked.

use std::sync::Arc;

use evenkeel_tokio::core::Attempt;
use tonic::Status;

use super::{MethodUpstream, Way};
use crate::connect::NotConnected;
use crate::error::NoHealthyTargets;

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

    /// The place `attempt` goes to, if the connection to it is still being made: then nothing was
    /// sent there.
    pub(crate) fn connecting(&self, attempt: &Attempt) -> Option<Arc<str>> {
        let (place, is_making) = match self.member(attempt) {
            Some(member) => (&member.name, member.line.is_making(attempt.started())),
            None => {
                let connectivity = self.settings.connectivity.as_ref()?;
                (&self.settings.target, connectivity.is_making(attempt.started()))
            }
        };
        is_making.then(|| Arc::clone(place))
    }
}
