//! This file knows how a scenario runs on our machines: a core call over a table of breakers, its
//! deadline trimmed by the budget of the task.

use std::sync::Arc;

use evenkeel_core::{
    Action, Attempt, Backoff, BreakerTable, BudgetExhausted, Call, CallPolicy, Code, Deadline,
    Instant, Invalid, Jitter, Keyed, Micros, Next, Outcome, RetryPolicy, Single, Upstream,
};
use evenkeel_std::{Error, Ledger};
use evenkeel_tokio::{in_budget, trim};

use super::{METHOD, Policy, Scenario, Seconds, Trace};
use crate::replay::budget;

pub(super) fn run(scenario: &Scenario) -> Result<Trace, Invalid> {
    let policy = scenario.policy()?;
    let Some(config) = &scenario.breaker else {
        return drive(scenario, &mut Single::new(&policy));
    };
    let breakers = config.policy()?;
    let mut table = BreakerTable::<&'static str, 1>::new();
    let mut trace = drive(scenario, &mut Keyed::new(METHOD, &policy, &mut table, &breakers))?;
    let shown = table.snapshots().map(|(method, snapshot)| {
        (method.into(), (snapshot.state.name().into(), snapshot.failures))
    });
    trace.breaker = Some(shown.collect());
    Ok(trace)
}

fn drive<U: Upstream>(scenario: &Scenario, upstream: &mut U) -> Result<Trace, Invalid> {
    let began = scenario.began();
    let Ok(deadline) = scenario.deadline(began, upstream.policy())? else {
        return Ok(Trace { told: "BUDGET_EXHAUSTED".into(), ..Trace::default() });
    };
    let mut call = Call::new(deadline, 0);
    let mut wire = Wire { scenario, now: began, ledger: Ledger::new(), trace: Trace::default() };
    let reason = loop {
        match call.poll(wire.now, upstream) {
            Action::Attempt(attempt) => {
                let number = attempt.number();
                let (outcome, code) = wire.send(&attempt);
                let next = call.complete(wire.now, upstream, attempt, outcome);
                if let Next::Retry { at, .. } = next {
                    let wait = at.since(wire.now).into();
                    wire.trace.retries.push((number, code.name().into(), wait));
                }
            }
            Action::WaitUntil(at) => wire.now = at,
            Action::Finish(reason) => break reason,
        }
    };
    let Wire { now, ledger, mut trace, .. } = wire;
    trace.told = told(ledger.settle(now, reason)).into();
    trace.elapsed = Seconds::from(now.since(began)) + scenario.overcounted(&trace);
    Ok(trace)
}

/// The scripted peer, and the time that passes there.
struct Wire<'a> {
    scenario: &'a Scenario,
    now: Instant,
    ledger: Ledger<(), Code>,
    trace: Trace,
}

impl Wire<'_> {
    /// What the peer answers, and the code the attempt ends in. At its deadline they differ, and
    /// that the call knows so too is for it to show.
    fn send(&mut self, attempt: &Attempt) -> (Outcome, Code) {
        let (latency, end) = self.scenario.scripted(self.trace.attempts.len());
        let slice = attempt.deadline().remaining(self.now);
        let limited = (slice < Micros::MAX).then(|| slice.into());
        self.trace.attempts.push((self.now.into(), limited));
        self.now = self.now + latency.micros().shorter(slice);
        let code = Code::from_name(end).unwrap_or(Code::Unknown);
        let reply = if code == Code::Ok { Ok(()) } else { Err(code) };
        self.ledger.keep(self.now, attempt, reply);
        let cut_off = attempt.deadline().is_over(self.now);
        (Outcome::new(code), if cut_off { Code::DeadlineExceeded } else { code })
    }
}

fn told(settled: Result<(), Error<Code>>) -> &'static str {
    match settled {
        Ok(()) => "OK",
        Err(Error::CircuitOpen { .. }) => "REJECTED",
        Err(Error::DeadlineExceeded { .. }) => "DEADLINE_EXCEEDED",
        Err(Error::Peer { error, .. }) => error.name(),
        Err(_) => "NO_TARGET",
    }
}

impl Scenario {
    /// The call's start on the budget's clock.
    fn began(&self) -> Instant {
        self.budget.as_ref().map_or(Instant::ZERO, |budget| budget.spent.instant())
    }

    fn policy(&self) -> Result<CallPolicy, Invalid> {
        let policy = match self.default_timeout().and_then(Seconds::duration) {
            Some(timeout) => CallPolicy::DEFAULT.with_timeout(timeout)?,
            None => CallPolicy::DEFAULT.unbounded(),
        };
        Ok(policy.with_retry(self.retry.policy()?))
    }

    fn deadline(
        &self,
        now: Instant,
        policy: &CallPolicy,
    ) -> Result<Result<Deadline, BudgetExhausted>, Invalid> {
        let caller = self
            .call_timeout
            .map_or(Deadline::NONE, |timeout| Deadline::at(now + timeout.micros()));
        let deadline = policy.deadline(now, caller);
        let Some(terms) = &self.budget else { return Ok(Ok(deadline)) };
        let reserve = terms.reserve.micros();
        let margin = Seconds::ZERO;
        let budget = budget::open(terms.total, margin, terms.min_timeout, terms.caps.as_ref())?;
        Ok(in_budget(Some(Arc::new(budget)), || trim(now, METHOD, deadline, reserve)))
    }
}

impl Policy {
    fn policy(&self) -> Result<RetryPolicy, Invalid> {
        let initial = self.initial_backoff.duration().unwrap_or_default();
        let max = self.max_backoff.duration().unwrap_or_default();
        let backoff = Backoff::new(initial, max)?
            .with_multiplier((self.backoff_multiplier * 1e3).round() as u32)?
            .with_jitter(Jitter::None)?;
        let mut policy =
            RetryPolicy::DEFAULT.with_max_attempts(self.max_attempts)?.with_backoff(backoff);
        if let Some(codes) = &self.retryable_codes {
            policy = policy.with_codes(codes.iter().filter_map(|it| Code::from_name(it)).collect());
        }
        Ok(match &self.idempotent_methods {
            Some(list) if !list.iter().any(|method| method == METHOD) => policy.not_idempotent(),
            Some(_) | None => policy,
        })
    }
}
