//! This file knows what a call borrows for one step: the [`Upstream`], and the two smallest.

use crate::linked::Linked;
use crate::{
    BreakerPolicy, BreakerTable, CallPolicy, CircuitBreaker, CodeSet, Consecutive, Deadline,
    Instant, Micros, Permit, Refusal, Report, Target, Throttle, ThrottlePolicy, Transition, Tried,
    Trip,
};

/// What the calls to one service share: the policy, its targets' breakers, the retry throttle.
///
/// It is lent to a [`Call`](crate::Call) for one step and never across a wait, so it can be a few
/// plain values, the inside of a critical section, or a handle to a pool of atomics. The call asks
/// for a target only when an attempt really goes out, and books every attempt it started exactly
/// once, on the target it used.
pub trait Upstream {
    /// The policy of the call.
    fn policy(&self) -> &CallPolicy;

    /// A target for the next attempt, and leave to use it until `lease`: untried ones first,
    /// refusing ones passed over ([`pick`](crate::pick) does both). A call asks until a second after
    /// the attempt's deadline, so that what ran into it can still be booked.
    ///
    /// # Errors
    ///
    /// [`Refusal`] when no target may be used.
    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal>;

    /// Books the end of an attempt on the breaker of `target` and on the throttle.
    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report);

    /// Whether the throttle lets a retry be scheduled, or a hedge be sent. Asked once for each, for
    /// a retry after the failure was booked: what a token is taken for here stays paid for.
    fn retry_allowed(&mut self, _now: Instant) -> bool {
        true
    }

    /// Says that an attempt without a deadline is still under way, so that its lease holds. A call
    /// asks for it when it is polled, so a driver polls on a sign of life, and not on a timer.
    fn renew(&mut self, _now: Instant, _target: Target, _permit: &Permit) {}

    /// How long an attempt may take before another is sent beside it: what the policy says, unless
    /// the upstream knows better, from a [`RunningQuantile`](crate::RunningQuantile) say.
    /// [`Micros::MAX`]: none is.
    fn hedge_after(&self) -> Micros {
        self.policy().hedge_after()
    }
}

impl<U: Upstream + ?Sized> Upstream for &mut U {
    fn policy(&self) -> &CallPolicy {
        (**self).policy()
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        (**self).admit(now, lease, tried)
    }

    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report) {
        (**self).record(now, target, permit, report);
    }

    fn retry_allowed(&mut self, now: Instant) -> bool {
        (**self).retry_allowed(now)
    }

    fn renew(&mut self, now: Instant, target: Target, permit: &Permit) {
        (**self).renew(now, target, permit);
    }

    fn hedge_after(&self) -> Micros {
        (**self).hedge_after()
    }
}

/// One target in plain values. It holds references and little else, so it may be made anew for each
/// step, or once for a call.
///
/// ```
/// use evenkeel_core::{BreakerPolicy, CallPolicy, CircuitBreaker, Single};
///
/// static POLICY: CallPolicy = CallPolicy::DEFAULT;
/// static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
///
/// let mut breaker = CircuitBreaker::new();
/// let upstream = Single::new(&POLICY).with_breaker(&mut breaker, &BREAKER);
/// assert_eq!(upstream.changed(), None);
/// ```
#[derive(Debug)]
pub struct Single<'a, T: Trip = Consecutive> {
    policy: &'a CallPolicy,
    breaker: Option<(&'a mut CircuitBreaker<T>, &'a BreakerPolicy<T>)>,
    throttle: Option<Tokens<'a>>,
    changed: Option<Transition>,
}

impl<'a> Single<'a> {
    /// Without a breaker or a throttle.
    pub const fn new(policy: &'a CallPolicy) -> Self {
        Self { policy, breaker: None, throttle: None, changed: None }
    }

    /// With this breaker, of any rule.
    pub fn with_breaker<T: Trip>(
        self,
        breaker: &'a mut CircuitBreaker<T>,
        policy: &'a BreakerPolicy<T>,
    ) -> Single<'a, T> {
        Single {
            policy: self.policy,
            breaker: Some((breaker, policy)),
            throttle: self.throttle,
            changed: None,
        }
    }
}

impl<'a, T: Trip> Single<'a, T> {
    /// With this throttle.
    pub fn with_throttle(mut self, throttle: &'a mut Throttle, policy: &'a ThrottlePolicy) -> Self {
        self.throttle = Some(Tokens::new(throttle, policy));
        self
    }

    /// What the steps made with it did to the breaker's state; the last change counts.
    pub const fn changed(&self) -> Option<Transition> {
        self.changed
    }
}

impl<T: Trip> Upstream for Single<'_, T> {
    fn policy(&self) -> &CallPolicy {
        self.policy
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        _tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let Some((breaker, policy)) = &mut self.breaker else {
            return Ok((Target::ONLY, Permit::UNTRACKED));
        };
        let permit = breaker.admit(now, lease, policy)?;
        if let Some(changed) = permit.transition() {
            self.changed = Some(changed);
        }
        Ok((Target::ONLY, permit))
    }

    fn record(&mut self, now: Instant, _target: Target, permit: Permit, report: &Report) {
        if let Some((breaker, policy)) = &mut self.breaker
            && let Some(changed) = breaker.record(now, permit, policy.verdict(report), policy)
        {
            self.changed = Some(changed);
        }
        if let Some(tokens) = &mut self.throttle {
            tokens.record(report, self.policy.retry().codes());
        }
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        self.throttle.as_mut().is_none_or(Tokens::allow)
    }

    fn renew(&mut self, now: Instant, _target: Target, permit: &Permit) {
        if let Some((breaker, policy)) = &mut self.breaker {
            breaker.renew(now, permit, policy);
        }
    }
}

/// A throttle that was lent, with the code that only a throttle needs.
#[derive(Debug)]
struct Tokens<'a> {
    throttle: &'a mut Throttle,
    policy: &'a ThrottlePolicy,
    record: Linked<fn(&mut Throttle, &Report, CodeSet, &ThrottlePolicy)>,
    allow: Linked<fn(&mut Throttle, &ThrottlePolicy) -> bool>,
}

impl<'a> Tokens<'a> {
    const fn new(throttle: &'a mut Throttle, policy: &'a ThrottlePolicy) -> Self {
        let record =
            Linked::<fn(&mut Throttle, &Report, CodeSet, &ThrottlePolicy)>(Throttle::record);
        let allow = Linked::<fn(&mut Throttle, &ThrottlePolicy) -> bool>(Throttle::allow);
        Self { throttle, policy, record, allow }
    }

    fn record(&mut self, report: &Report, retryable: CodeSet) {
        (self.record.0)(self.throttle, report, retryable, self.policy);
    }

    fn allow(&mut self) -> bool {
        (self.allow.0)(self.throttle, self.policy)
    }
}

/// One target whose breaker lives in a [`BreakerTable`], under a key of the caller's choice: a
/// method, a sensor's address. Make it anew for each step; the table stays where it is.
///
/// [`docs::driving`](crate::docs::driving) reads eight sensors with it, without a heap.
///
/// ```
/// use evenkeel_core::{BreakerPolicy, BreakerTable, CallPolicy, Keyed};
///
/// static POLICY: CallPolicy = CallPolicy::DEFAULT;
/// static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
///
/// let mut table = BreakerTable::<u16, 8>::new();
/// let upstream = Keyed::new(0x48, &POLICY, &mut table, &BREAKER);
/// assert_eq!(upstream.changed(), None);
/// ```
#[derive(Debug)]
pub struct Keyed<'a, K, const N: usize, T: Trip = Consecutive> {
    key: K,
    policy: &'a CallPolicy,
    table: &'a mut BreakerTable<K, N, T>,
    breaker: &'a BreakerPolicy<T>,
    throttle: Option<Tokens<'a>>,
    changed: Option<Transition>,
}

impl<'a, K, const N: usize, T: Trip> Keyed<'a, K, N, T> {
    /// With the breaker of `key` in `table`, and no throttle.
    pub const fn new(
        key: K,
        policy: &'a CallPolicy,
        table: &'a mut BreakerTable<K, N, T>,
        breaker: &'a BreakerPolicy<T>,
    ) -> Self {
        Self { key, policy, table, breaker, throttle: None, changed: None }
    }

    /// With this throttle.
    pub fn with_throttle(mut self, throttle: &'a mut Throttle, policy: &'a ThrottlePolicy) -> Self {
        self.throttle = Some(Tokens::new(throttle, policy));
        self
    }

    /// What the steps made with it did to the breaker's state; the last change counts.
    pub const fn changed(&self) -> Option<Transition> {
        self.changed
    }
}

impl<K: Copy + Eq, const N: usize, T: Trip> Upstream for Keyed<'_, K, N, T> {
    fn policy(&self) -> &CallPolicy {
        self.policy
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        _tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let permit = self.table.admit(now, self.key, lease, self.breaker)?;
        if let Some(changed) = permit.transition() {
            self.changed = Some(changed);
        }
        Ok((Target::ONLY, permit))
    }

    fn record(&mut self, now: Instant, _target: Target, permit: Permit, report: &Report) {
        let verdict = self.breaker.verdict(report);
        if let Some(changed) = self.table.record(now, self.key, permit, verdict, self.breaker) {
            self.changed = Some(changed);
        }
        if let Some(tokens) = &mut self.throttle {
            tokens.record(report, self.policy.retry().codes());
        }
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        self.throttle.as_mut().is_none_or(Tokens::allow)
    }

    fn renew(&mut self, now: Instant, _target: Target, permit: &Permit) {
        self.table.renew(now, self.key, permit, self.breaker);
    }
}
