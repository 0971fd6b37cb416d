//! This file knows what to say of those who could not be asked.

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
}
