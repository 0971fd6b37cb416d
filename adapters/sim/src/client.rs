//! This file knows one client of the fleet: what its calls share, lent to each for one step.

use evenkeel_core::{
    BreakerPolicy, CallPolicy, CircuitBreaker, Code, Deadline, Instant, LastN, Permit, Refusal,
    Report, Target, Throttle, TimeWindow, Transition, Tried, Trip, Upstream,
};

use crate::models::{
    AdaptiveMemory, AwsMemory, EnvoyMemory, FinagleMemory, MongoDbMemory, RequestsMemory,
};
use crate::{Budget, Chance, Guard, Policy};

/// What the calls of one client share.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    guard: GuardMemory,
    budget: BudgetMemory,
    seed: u32,
}

#[derive(Clone, Debug)]
enum GuardMemory {
    Adaptive(Box<AdaptiveMemory>),
    Consecutive(CircuitBreaker),
    LastN(Box<CircuitBreaker<LastN>>),
    None,
    TimeWindow(Box<CircuitBreaker<TimeWindow>>),
}

#[derive(Clone, Debug)]
enum BudgetMemory {
    Aws(AwsMemory),
    Envoy(EnvoyMemory),
    Finagle(Box<FinagleMemory>),
    MongoDb(MongoDbMemory),
    None,
    Requests(RequestsMemory),
    Shipped(Throttle),
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
    /// How its last attempt failed.
    timed_out: bool,
}

/// How many breakers of the fleet are not closed, and what was refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Census {
    pub(crate) open: u32,
    pub(crate) half_open: u32,
    pub(crate) opened: u64,
}

impl Client {
    pub(crate) fn new(policy: &Policy, seed: u32) -> Self {
        let guard = match policy.guard {
            Guard::Adaptive(_) => GuardMemory::Adaptive(Box::new(AdaptiveMemory::EMPTY)),
            Guard::Consecutive(_) => GuardMemory::Consecutive(CircuitBreaker::new()),
            Guard::LastN(_) => GuardMemory::LastN(Box::default()),
            Guard::None => GuardMemory::None,
            Guard::TimeWindow(_) => GuardMemory::TimeWindow(Box::default()),
        };
        let budget = match &policy.budget {
            Budget::Aws(rule) => BudgetMemory::Aws(AwsMemory::full(rule)),
            Budget::Envoy(_) => BudgetMemory::Envoy(EnvoyMemory::default()),
            Budget::Finagle(_) => BudgetMemory::Finagle(Box::new(FinagleMemory::EMPTY)),
            Budget::MongoDb(rule) => BudgetMemory::MongoDb(MongoDbMemory::full(rule)),
            Budget::None => BudgetMemory::None,
            Budget::Requests(rule) => BudgetMemory::Requests(RequestsMemory::new(rule)),
            Budget::Shipped(rule) => BudgetMemory::Shipped(Throttle::full(rule)),
        };
        Self { guard, budget, seed }
    }

    /// A call has started.
    pub(crate) fn started(&mut self, now: u64, policy: &Policy) {
        match (&mut self.budget, &policy.budget) {
            (BudgetMemory::Envoy(memory), _) => memory.started(),
            (BudgetMemory::Finagle(memory), Budget::Finagle(rule)) => memory.started(now, rule),
            (BudgetMemory::Requests(memory), Budget::Requests(rule)) => memory.started(rule),
            _ => {}
        }
    }

    /// A call has ended.
    pub(crate) fn ended(&mut self, memo: &mut Memo) {
        if let BudgetMemory::Envoy(memory) = &mut self.budget {
            memory.ended(&mut memo.holds_retry);
        }
    }
}

/// A client as a call borrows it for one step.
pub(crate) struct Lent<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) client: &'a mut Client,
    pub(crate) memo: &'a mut Memo,
    pub(crate) census: &'a mut Census,
    pub(crate) chance: &'a mut Chance,
}

impl Upstream for Lent<'_> {
    #[inline]
    fn policy(&self) -> &CallPolicy {
        &self.policy.call
    }

    #[inline]
    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        _tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let permit = match (&mut self.client.guard, &self.policy.guard) {
            (GuardMemory::Consecutive(breaker), Guard::Consecutive(policy)) => {
                breaker.admit(now, lease, policy)?
            }
            (GuardMemory::LastN(breaker), Guard::LastN(policy)) => {
                breaker.admit(now, lease, policy)?
            }
            (GuardMemory::TimeWindow(breaker), Guard::TimeWindow(policy)) => {
                breaker.admit(now, lease, policy)?
            }
            (GuardMemory::Adaptive(memory), Guard::Adaptive(rule)) => {
                if !memory.admit(now.as_micros(), rule, self.chance) {
                    return Err(Refusal::CircuitOpen { retry_at: now });
                }
                Permit::UNTRACKED
            }
            _ => Permit::UNTRACKED,
        };
        self.census.count(false, permit.transition());
        Ok((Target::ONLY, permit))
    }

    #[inline]
    fn record(&mut self, now: Instant, _target: Target, permit: Permit, report: &Report) {
        let (jitter, seed) = (self.policy.open_jitter, self.client.seed);
        let (was_half_open, changed) = match (&mut self.client.guard, &self.policy.guard) {
            (GuardMemory::Consecutive(breaker), Guard::Consecutive(policy)) => {
                record(breaker, policy, jitter, seed, now, permit, report)
            }
            (GuardMemory::LastN(breaker), Guard::LastN(policy)) => {
                record(breaker, policy, jitter, seed, now, permit, report)
            }
            (GuardMemory::TimeWindow(breaker), Guard::TimeWindow(policy)) => {
                record(breaker, policy, jitter, seed, now, permit, report)
            }
            (GuardMemory::Adaptive(memory), Guard::Adaptive(rule)) => {
                if report.is_success() {
                    memory.accepted(now.as_micros(), rule);
                }
                (false, None)
            }
            _ => (false, None),
        };
        self.census.count(was_half_open, changed);
        self.book(report);
    }

    #[inline]
    fn retry_allowed(&mut self, now: Instant) -> bool {
        match (&mut self.client.budget, &self.policy.budget) {
            (BudgetMemory::Shipped(throttle), Budget::Shipped(policy)) => throttle.allow(policy),
            (BudgetMemory::Requests(memory), _) => memory.allow(),
            (BudgetMemory::MongoDb(memory), _) => memory.allow(),
            (BudgetMemory::Finagle(memory), Budget::Finagle(rule)) => {
                memory.allow(now.as_micros(), rule)
            }
            (BudgetMemory::Envoy(memory), Budget::Envoy(rule)) => {
                memory.allow(rule, &mut self.memo.holds_retry)
            }
            (BudgetMemory::Aws(memory), Budget::Aws(rule)) => {
                let paid = memory.allow(rule, self.memo.timed_out);
                self.memo.paid = paid.unwrap_or(0);
                paid.is_some()
            }
            _ => true,
        }
    }
}

impl Lent<'_> {
    /// Books an attempt's end on the budget.
    #[inline]
    fn book(&mut self, report: &Report) {
        let success = report.is_success();
        match (&mut self.client.budget, &self.policy.budget) {
            (BudgetMemory::Shipped(throttle), Budget::Shipped(policy)) => {
                throttle.record(report, self.policy.call.retry().codes(), policy);
            }
            (BudgetMemory::Aws(memory), Budget::Aws(rule)) if success => {
                memory.succeeded(rule, self.memo.paid);
            }
            (BudgetMemory::MongoDb(memory), Budget::MongoDb(rule)) => {
                let overload = report.outcome.code != Code::DeadlineExceeded;
                memory.ended(rule, success, overload, self.memo.retried);
            }
            _ => {}
        }
        self.memo.timed_out = report.outcome.code == Code::DeadlineExceeded;
        self.memo.retried |= !success;
    }
}

/// Books on a breaker, with the client's own seed where open times vary; answers whether it was
/// half-open, and what changed.
#[inline]
fn record<T: Trip>(
    breaker: &mut CircuitBreaker<T>,
    policy: &BreakerPolicy<T>,
    jitter: u16,
    seed: u32,
    now: Instant,
    permit: Permit,
    report: &Report,
) -> (bool, Option<Transition>) {
    let protecting = breaker.is_protecting();
    let verdict = policy.verdict(report);
    if jitter == 0 || report.is_success() {
        return (protecting, breaker.record(now, permit, verdict, policy));
    }
    // Checked where the policy was made; a share it refuses would leave the times as they are.
    let own = policy.with_open_jitter(jitter, seed);
    (protecting, breaker.record(now, permit, verdict, own.as_ref().unwrap_or(policy)))
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
