//! This file knows where the record of a call, logs and metrics hear of what its upstream does.
//! Every driver's attempts come by here.

use std::sync::Arc;

use evenkeel_tokio::core::{Attempt, Instant, Permit, Refusal, Report, Target, Transition};

use tonic::Status;

use super::{MethodUpstream, Way};
use crate::observe::{Scope, Seen};
use crate::warn::named;

impl<S> MethodUpstream<S> {
    /// With the record of this call.
    pub(crate) fn seen_by(mut self, seen: Option<Box<Seen>>) -> Self {
        self.seen = seen;
        self
    }

    /// The record of the call.
    pub(crate) const fn seen(&self) -> Option<&Seen> {
        match &self.seen {
            Some(seen) => Some(seen),
            None => None,
        }
    }

    /// Tells the call's record how it ended.
    pub(crate) fn over(&mut self, result: Result<(), &Status>) {
        if let Some(mut seen) = self.seen.take() {
            seen.over(result, result.err().map(|_| self.limit().name()));
        }
    }

    /// The span `attempt` is made in.
    pub(crate) fn scope(&self, attempt: &Attempt) -> Scope {
        self.seen.as_ref().map_or(Scope::NONE, |seen| seen.scope(attempt))
    }

    /// Tells the call's record whether an attempt goes out.
    pub(super) fn look_at(&mut self, now: Instant, admitted: &Result<(Target, Permit), Refusal>) {
        match admitted {
            Ok((target, _)) => {
                if let Some(mut seen) = self.seen.take() {
                    seen.started(now, self.deadline, *target, self.called(*target));
                    self.seen = Some(seen);
                }
            }
            Err(Refusal::CircuitOpen { .. }) => {
                if let Some(view) = &self.method.view {
                    view.refused(self.refused_by());
                }
            }
            Err(Refusal::NoTarget) => {}
        }
    }

    /// Tells the call's record of an attempt that ended.
    pub(super) fn look_back(&mut self, now: Instant, target: Target, report: &Report) {
        if let Some(seen) = &mut self.seen {
            seen.ended(now, target, report);
        }
    }

    /// Tells the call's record of a retry or hedge the throttle refused.
    pub(super) fn look_at_throttle(&self, allowed: bool) {
        if let Some(seen) = self.seen.as_ref().filter(|_| !allowed) {
            seen.throttled();
        }
    }

    /// Tells of a breaker that changed.
    pub(super) fn tell(&self, target: Target, transition: Option<Transition>) {
        let Some(transition) = transition else { return };
        if let (Some(view), Some(breaker)) = (&self.method.view, self.breaker(target)) {
            view.turned(self.called(target), transition, breaker);
        }
        match &self.seen {
            Some(seen) => seen.within(|| self.say(target, transition)),
            None => self.say(target, transition),
        }
    }

    /// What `target` is called, while an attempt is at it.
    fn called(&self, target: Target) -> &Arc<str> {
        match &self.way {
            Way::One { .. } => &self.settings.target,
            Way::Pool(pooled) => {
                pooled.member(target).map_or(&self.settings.target, |member| &member.name)
            }
        }
    }

    fn say(&self, target: Target, transition: Transition) {
        let (upstream, method) = (named(&self.settings.target), &*self.method.path);
        let state = transition.state().name();
        match &self.way {
            Way::One { .. } => {
                tracing::info!(target: "evenkeel", upstream, method, state, "circuit breaker");
            }
            Way::Pool(pooled) => {
                let member = pooled.member(target).map_or("", |member| &member.name);
                tracing::info!(
                    target: "evenkeel", upstream, member, method, state, "circuit breaker",
                );
            }
        }
    }
}
