//! This file knows a breaker with its policy and a clock, for scenarios that need no call.

use evenkeel_core::{
    BreakerPolicy, BreakerState, CircuitBreaker, Code, Consecutive, Deadline, Instant, Micros,
    Permit, Rejected, Report, Transition, Trip, Weight,
};

use crate::policies::{code, ms};

#[derive(Clone, Debug)]
pub(crate) struct Circuit<T: Trip = Consecutive> {
    pub(crate) breaker: CircuitBreaker<T>,
    pub(crate) policy: BreakerPolicy<T>,
    pub(crate) now: Instant,
}

impl<T: Trip> Circuit<T> {
    pub(crate) fn new(policy: BreakerPolicy<T>) -> Self {
        let now = Instant::from_micros(7_000_000);
        Self { breaker: CircuitBreaker::closed(), policy, now }
    }

    /// Leave for an attempt without a deadline.
    pub(crate) fn admit(&mut self) -> Result<Permit, Rejected> {
        self.breaker.admit(self.now, Deadline::NONE, &self.policy)
    }

    /// Leave for an attempt that must be over in `millis`.
    pub(crate) fn admit_for(&mut self, millis: u64) -> Result<Permit, Rejected> {
        self.breaker.admit(self.now, Deadline::at(self.now + ms(millis)), &self.policy)
    }

    /// Books an attempt that ended with `ended`.
    pub(crate) fn end(&mut self, permit: Permit, ended: Code) -> Option<Transition> {
        self.end_as(permit, ended, Weight::Counts)
    }

    /// Books an attempt whose caller went away.
    pub(crate) fn walk_away(&mut self, permit: Permit) -> Option<Transition> {
        self.end_as(permit, Code::Cancelled, Weight::Cancelled)
    }

    fn end_as(&mut self, permit: Permit, ended: Code, weight: Weight) -> Option<Transition> {
        let report = Report { outcome: code(ended), took: Micros::ZERO, weight };
        self.breaker.record(self.now, permit, self.policy.verdict(&report), &self.policy)
    }

    /// A whole attempt in one instant; what it changed last.
    pub(crate) fn attempt(&mut self, ended: Code) -> Option<Transition> {
        let permit = self.admit().expect("admitted");
        let half_opened = permit.transition();
        self.end(permit, ended).or(half_opened)
    }

    pub(crate) fn pass(&mut self, millis: u64) {
        self.now = self.now + ms(millis);
    }

    /// Its state, and the failures it shows.
    pub(crate) fn shown(&self) -> (BreakerState, u16) {
        (self.breaker.state(), self.breaker.snapshot().failures)
    }

    /// The trials under way, and its state.
    pub(crate) fn trials(&self) -> (u8, BreakerState) {
        (self.breaker.snapshot().trials, self.breaker.state())
    }
}

impl Circuit {
    /// A breaker that has just let its open time pass.
    pub(crate) fn ready_for_trials(policy: BreakerPolicy) -> Self {
        let mut circuit = Self::new(policy);
        while circuit.breaker.state() != BreakerState::Open {
            circuit.attempt(Code::Unavailable);
        }
        circuit.now = circuit.breaker.snapshot().retry_at.expect("open");
        circuit
    }
}
