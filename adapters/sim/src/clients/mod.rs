//! This file knows the clients of a fleet: what the calls of each share, lent to one for a step.
//!
//! A fleet may have a million clients, and what each remembers is touched a few times for every
//! call. So there is no struct of a client: there is an array of breakers and one of budgets, of
//! the one kind the policy has, and a client is a place in both.

mod budgets;
mod guards;

#[cfg(feature = "rehearse")]
use evenkeel_core::Snapshot;
use evenkeel_core::{
    CallPolicy, Deadline, Instant, Permit, Refusal, Report, Target, Transition, Tried, Upstream,
};

use crate::{Chance, Policy};
use budgets::Budgets;
use guards::Guards;

/// What the clients remember.
#[derive(Debug)]
pub(crate) struct Clients {
    guards: Guards,
    budgets: Budgets,
    census: Census,
    call: CallPolicy,
}

/// What the models remember of one call; the core's machines need none of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memo {
    /// What its last retry cost (AWS).
    paid: u32,
    /// Whether it holds a place among the retries under way (Envoy).
    holds_retry: bool,
    /// Whether an attempt has failed before.
    retried: bool,
    /// Whether its last attempt ran into its deadline.
    timed_out: bool,
}

/// How many breakers of the fleet are not closed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Census {
    pub(crate) open: u32,
    pub(crate) half_open: u32,
    /// How many times any opened.
    pub(crate) opened: u64,
}

impl Clients {
    pub(crate) fn new(policy: &Policy, clients: usize, seed: u64) -> Self {
        Self {
            guards: Guards::new(policy, clients, seed),
            budgets: Budgets::new(&policy.budget, clients),
            census: Census::default(),
            call: policy.call,
        }
    }

    /// Has what this client remembers brought from memory.
    #[inline]
    pub(crate) fn fetch(&self, client: usize) {
        self.guards.fetch(client);
        self.budgets.fetch(client);
    }

    /// A call of `client` has started, which must be over by what is answered.
    #[inline]
    pub(crate) fn started(&mut self, now: u64, client: usize, caller: Deadline) -> Deadline {
        self.budgets.started(now, client);
        self.call.deadline(Instant::from_micros(now), caller)
    }

    /// A call of `client` has ended.
    #[inline]
    pub(crate) fn ended(&mut self, client: usize, memo: &mut Memo) {
        self.budgets.ended(client, memo);
    }

    /// The client at this place, for one step of one of its calls.
    #[inline]
    pub(crate) const fn lend<'a>(
        &'a mut self,
        client: usize,
        memo: &'a mut Memo,
        chance: &'a mut Chance,
    ) -> Lent<'a> {
        Lent { clients: self, client, memo, chance }
    }

    /// What the breaker and the throttle of `client` look like, where they are the core's own.
    #[cfg(feature = "rehearse")]
    pub(crate) fn shown(&self, client: usize) -> (Option<Snapshot>, Option<u32>) {
        (self.guards.snapshot(client), self.budgets.millitokens(client))
    }

    pub(crate) const fn census(&self) -> &Census {
        &self.census
    }
}

/// A client as a call borrows it.
pub(crate) struct Lent<'a> {
    clients: &'a mut Clients,
    client: usize,
    memo: &'a mut Memo,
    chance: &'a mut Chance,
}

impl Upstream for Lent<'_> {
    #[inline]
    fn policy(&self) -> &CallPolicy {
        &self.clients.call
    }

    #[inline]
    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        _tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let permit = self.clients.guards.admit(now, self.client, lease, self.chance)?;
        self.clients.census.count(false, permit.transition());
        Ok((Target::ONLY, permit))
    }

    #[inline]
    fn record(&mut self, now: Instant, _target: Target, permit: Permit, report: &Report) {
        let (was_half_open, changed) = self.clients.guards.record(now, self.client, permit, report);
        self.clients.census.count(was_half_open, changed);
        let retryable = self.clients.call.retry().codes();
        self.clients.budgets.record(self.client, report, retryable, self.memo);
    }

    #[inline]
    fn retry_allowed(&mut self, now: Instant) -> bool {
        self.clients.budgets.allow(now.as_micros(), self.client, self.memo)
    }
}

impl Census {
    #[inline]
    fn count(&mut self, was_half_open: bool, changed: Option<Transition>) {
        match changed {
            Some(Transition::Opened) => {
                self.opened += 1;
                self.open += 1;
                self.half_open -= u32::from(was_half_open);
            }
            Some(Transition::HalfOpened) => {
                self.half_open += 1;
                self.open -= 1;
            }
            Some(Transition::Closed) => self.half_open -= 1,
            // Nobody forces a simulated breaker.
            Some(Transition::ForcedClosed | Transition::ForcedOpen) | None => {}
        }
    }
}
