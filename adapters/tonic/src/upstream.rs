//! This file knows the upstream of one call: the client's shared state, as the core borrows it.

use std::sync::Arc;

use evenkeel_tokio::core::{
    CallPolicy, Deadline, Instant, Permit, Refusal, Report, Target, Transition, Tried, Upstream,
};
use evenkeel_tokio::{AnyRule, Handle, SharedThrottle};

use crate::settings::{KeyRef, Method, Settings};

/// One target, its breaker for one method, and the throttle all calls share.
#[derive(Debug)]
pub(crate) struct MethodUpstream {
    settings: Arc<Settings>,
    method: Arc<Method>,
    retries: Retries,
    /// Looked up for this call, where the method does not keep it.
    breaker: Option<Handle<AnyRule>>,
}

/// Whether the call said that it wants none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Retries {
    AsConfigured,
    Off,
}

impl MethodUpstream {
    pub(crate) const fn new(
        settings: Arc<Settings>,
        method: Arc<Method>,
        retries: Retries,
    ) -> Self {
        Self { settings, method, retries, breaker: None }
    }

    pub(crate) const fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    pub(crate) const fn method(&self) -> &Arc<Method> {
        &self.method
    }

    /// Looks the breaker up, where the method does not keep one.
    fn look_up(&mut self, now: Instant) {
        let Some((_, table)) = &self.settings.breaker else { return };
        if self.breaker().is_some() {
            return;
        }
        let key = KeyRef { target: &self.settings.target, method: &self.method.path };
        let lookup = table.lookup(now, &key);
        if lookup.overflowed {
            warn_of_a_full_table(&self.settings);
        }
        self.breaker = lookup.handle;
    }

    /// The breaker, once it was looked up.
    fn breaker(&self) -> Option<&Handle<AnyRule>> {
        self.method.breaker.as_ref().or(self.breaker.as_ref())
    }

    fn tell(&self, transition: Option<Transition>) {
        let Some(transition) = transition else { return };
        let (target, method) = (&*self.settings.target, &*self.method.path);
        let state = transition.state().name();
        tracing::info!(target: "evenkeel", upstream = target, method, state, "circuit breaker");
    }
}

impl Upstream for MethodUpstream {
    fn policy(&self) -> &CallPolicy {
        match self.retries {
            Retries::AsConfigured => &self.method.policy,
            Retries::Off => &self.method.without_retry,
        }
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        _tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        self.look_up(now);
        let (Some((policy, _)), Some(breaker)) = (&self.settings.breaker, self.breaker()) else {
            return Ok((Target::ONLY, Permit::UNTRACKED));
        };
        let permit = breaker.admit(now, lease, policy)?;
        self.tell(permit.transition());
        Ok((Target::ONLY, permit))
    }

    fn record(&mut self, now: Instant, _target: Target, permit: Permit, report: &Report) {
        if let (Some((policy, _)), Some(breaker)) = (&self.settings.breaker, self.breaker()) {
            self.tell(breaker.record(now, permit, policy.verdict(report), policy));
        }
        if let Some(throttle) = &self.settings.throttle {
            throttle.record(report, self.method.policy.retry().codes());
        }
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        self.settings.throttle.as_ref().is_none_or(SharedThrottle::allow)
    }

    fn renew(&mut self, now: Instant, _target: Target, permit: &Permit) {
        if let (Some((policy, _)), Some(breaker)) = (&self.settings.breaker, self.breaker()) {
            breaker.renew(now, permit, policy);
        }
    }
}

/// One warning for each time the table fills up; whoever's lookup did it gives it.
pub(crate) fn warn_of_a_full_table(settings: &Settings) {
    let size = settings.breaker.as_ref().map_or(0, |(_, table)| table.len());
    let target = &*settings.target;
    tracing::warn!(
        target: "evenkeel",
        upstream = target,
        size,
        "every circuit breaker in the table protects or is in use, and a new method needs one; \
         raise breaker.max_methods, or look where so many method names come from",
    );
}
