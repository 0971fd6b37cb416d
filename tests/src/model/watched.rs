//! This file knows the upstream a firmware has, one breaker and one throttle in plain values,
//! watched: ledgers check every answer of theirs while a call is using them.

use evenkeel_core::{
    BreakerPolicy, CallPolicy, CircuitBreaker, Deadline, Instant, Permit, Refusal, Report, Single,
    Target, Throttle, ThrottlePolicy, Tried, Upstream,
};

use super::ledger::{Ledger, Terms};
use super::rule::Rule;
use super::tokens::Tokens;

/// The policies, and the breaker's in plain numbers.
#[derive(Debug)]
pub struct Policies {
    /// Of the call.
    pub call: CallPolicy,
    /// Of the breaker: opens at the second failure in a row.
    pub breaker: BreakerPolicy,
    /// The same in plain numbers.
    pub terms: Terms,
    /// Of the throttle.
    pub throttle: ThrottlePolicy,
}

/// What calls share.
#[derive(Clone, Debug)]
pub struct Watched<'a> {
    policies: &'a Policies,
    /// The breaker.
    pub breaker: CircuitBreaker,
    /// The throttle.
    pub throttle: Throttle,
    ledger: Ledger,
    tokens: Tokens,
    /// The period in which each attempt under way was admitted, the latest last.
    periods: Vec<u32>,
    /// Answers that were not those of the ledgers, and questions out of turn.
    pub faults: Vec<String>,
}

impl<'a> Watched<'a> {
    /// Nothing has happened yet; `tokens` belong to the throttle's policy.
    pub fn new(policies: &'a Policies, tokens: Tokens) -> Self {
        let rule = Rule::Consecutive { threshold: 2, failures: 0 };
        Self {
            policies,
            breaker: CircuitBreaker::new(),
            throttle: Throttle::full(&policies.throttle),
            ledger: Ledger::new(policies.terms.clone(), rule),
            tokens,
            periods: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// How many attempts are under way.
    pub fn under_way(&self) -> usize {
        self.periods.len()
    }

    fn ask<R>(&mut self, ask: impl FnOnce(&mut Single<'_>) -> R) -> R {
        let policies = self.policies;
        let mut single = Single::new(&policies.call)
            .with_breaker(&mut self.breaker, &policies.breaker)
            .with_throttle(&mut self.throttle, &policies.throttle);
        ask(&mut single)
    }

    fn check(&mut self) {
        let breaker = self.ledger.compare(&self.breaker.snapshot());
        let throttle = self.tokens.compare(&self.throttle);
        self.faults.extend(breaker.err().into_iter().chain(throttle.err()));
    }
}

impl Upstream for Watched<'_> {
    fn policy(&self) -> &CallPolicy {
        &self.policies.call
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let answer = self.ask(|single| single.admit(now, lease, tried));
        let until = Some(lease.instant().as_micros()).filter(|_| !lease.is_none());
        let due = self.ledger.admit(now.as_micros(), until);
        let due = due.map_err(|at| Refusal::CircuitOpen { retry_at: Instant::from_micros(at) });
        if answer.as_ref().map(drop) != due.as_ref().map(drop) {
            self.faults.push(format!("admitted {answer:?}, due is {due:?}"));
        }
        if answer.is_ok() {
            self.periods.push(self.ledger.number);
        }
        self.check();
        answer
    }

    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report) {
        let showed = self.ask(|single| {
            single.record(now, target, permit, report);
            single.changed()
        });
        let verdict = self.policies.breaker.verdict(report);
        match self.periods.pop() {
            Some(period) => {
                let recorded = self.ledger.record(now.as_micros(), period, verdict, showed);
                self.faults.extend(recorded.err());
            }
            None => self.faults.push("booked an attempt that was not under way".into()),
        }
        self.tokens.book(report, self.policies.call.retry().codes());
        self.check();
    }

    fn retry_allowed(&mut self, now: Instant) -> bool {
        let granted = self.ask(|single| single.retry_allowed(now));
        if granted != self.tokens.ask() {
            self.faults.push(format!("granted: {granted}, with {:?}", self.tokens));
        }
        self.check();
        granted
    }

    fn renew(&mut self, now: Instant, target: Target, permit: &Permit) {
        self.ask(|single| single.renew(now, target, permit));
        if let Some(period) = self.periods.last() {
            self.ledger.renew(now.as_micros(), *period);
        }
        self.check();
    }
}
