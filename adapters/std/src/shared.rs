//! This file knows an upstream of one target that threads and tasks share.

use evenkeel_core::{
    BreakerPolicy, CallPolicy, Consecutive, Deadline, Instant, Permit, Refusal, Report, Snapshot,
    Target, ThrottlePolicy, Transition, Tried, Trip, Upstream,
};

use crate::{SharedBreaker, SharedThrottle};

/// One target behind its policy, breaker and throttle. Borrow it from as many threads as you like.
///
/// What is not configured costs nothing: without a breaker none is asked.
///
/// ```
/// use evenkeel_core::{BreakerPolicy, CallPolicy, ThrottlePolicy};
/// use evenkeel_std::Shared;
///
/// static BILLING: std::sync::LazyLock<Shared> = std::sync::LazyLock::new(|| {
///     Shared::new(CallPolicy::DEFAULT)
///         .with_breaker(BreakerPolicy::DEFAULT)
///         .with_throttle(ThrottlePolicy::SUCCESS_REFILLED)
/// });
/// assert!(BILLING.breaker().is_some());
/// ```
#[derive(Debug)]
pub struct Shared<T: Trip = Consecutive> {
    policy: CallPolicy,
    breaker: Option<(SharedBreaker<T>, BreakerPolicy<T>)>,
    throttle: Option<SharedThrottle>,
}

impl Shared {
    /// Without a breaker or a throttle.
    pub const fn new(policy: CallPolicy) -> Self {
        Self { policy, breaker: None, throttle: None }
    }

    /// With a breaker of any rule.
    pub fn with_breaker<T: Trip>(self, policy: BreakerPolicy<T>) -> Shared<T> {
        Shared {
            policy: self.policy,
            breaker: Some((SharedBreaker::closed(), policy)),
            throttle: self.throttle,
        }
    }
}

impl<T: Trip> Shared<T> {
    /// With a throttle.
    pub fn with_throttle(mut self, policy: ThrottlePolicy) -> Self {
        self.throttle = Some(SharedThrottle::new(policy));
        self
    }

    /// The policy of its calls.
    pub const fn call_policy(&self) -> &CallPolicy {
        &self.policy
    }

    /// What its breaker looks like now, if it has one.
    pub fn breaker(&self) -> Option<Snapshot> {
        self.breaker.as_ref().map(|(breaker, _)| breaker.snapshot())
    }

    /// Its throttle, if it has one.
    pub const fn throttle(&self) -> Option<&SharedThrottle> {
        self.throttle.as_ref()
    }

    /// A view for one call, which also remembers what its steps changed.
    pub const fn view(&self) -> View<'_, T> {
        View { shared: self, changed: None }
    }
}

/// [`Shared`] as one call borrows it.
#[derive(Debug)]
pub struct View<'a, T: Trip = Consecutive> {
    shared: &'a Shared<T>,
    changed: Option<Transition>,
}

impl<T: Trip> View<'_, T> {
    /// Takes what the steps since the last time did to the breaker's state.
    pub const fn take_changed(&mut self) -> Option<Transition> {
        self.changed.take()
    }
}

impl<T: Trip> Upstream for View<'_, T> {
    #[inline]
    fn policy(&self) -> &CallPolicy {
        &self.shared.policy
    }

    #[inline]
    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        _tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let Some((breaker, policy)) = &self.shared.breaker else {
            return Ok((Target::ONLY, Permit::UNTRACKED));
        };
        let permit = breaker.admit(now, lease, policy)?;
        if let Some(changed) = permit.transition() {
            self.changed = Some(changed);
        }
        Ok((Target::ONLY, permit))
    }

    #[inline]
    fn record(&mut self, now: Instant, _target: Target, permit: Permit, report: &Report) {
        if let Some((breaker, policy)) = &self.shared.breaker
            && let Some(changed) = breaker.record(now, permit, policy.verdict(report), policy)
        {
            self.changed = Some(changed);
        }
        if let Some(throttle) = &self.shared.throttle {
            // A copy, so that without a throttle the report need not be in memory.
            throttle.record(&{ *report }, self.shared.policy.retry().codes());
        }
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        self.shared.throttle.as_ref().is_none_or(SharedThrottle::allow)
    }

    fn renew(&mut self, now: Instant, _target: Target, permit: &Permit) {
        if let Some((breaker, policy)) = &self.shared.breaker {
            breaker.renew(now, permit, policy);
        }
    }
}
