//! This file knows how a scenario runs on our breakers: a server's table of shared ones.

use std::collections::HashMap;

use evenkeel_core::{
    BreakerPolicy, Consecutive, Deadline, Instant, Invalid, Permit, Report, Snapshot,
};
use evenkeel_std::{Handle, SharedTable};

use super::{Config, Op, Scenario, Seconds, Shown, Step};

pub(super) fn run(scenario: &Scenario) -> Result<Vec<Step>, Invalid> {
    let mut ours = Ours {
        table: SharedTable::new(scenario.config.max_methods)?,
        policy: scenario.config.policy()?,
        now: Instant::ZERO,
        in_flight: HashMap::new(),
    };
    let mut steps = vec![];
    for op in &scenario.ops {
        let mut step = Step::default();
        if let Op::Advance(span) = op {
            ours.now = ours.now + span.micros();
        }
        ours.keep_leases();
        match op {
            Op::Advance(_) => {}
            Op::Begin { call, method } => ours.begin(*call, method, &mut step),
            Op::End { call, how } => {
                let ended = ours.end(*call, &how.report(), &mut step);
                step.result = Some(if ended { how.told() } else { "REJECTED" }.into());
            }
        }
        step.states = ours.show();
        steps.push(step);
    }
    Ok(steps)
}

impl Config {
    pub(in super::super) fn policy(&self) -> Result<BreakerPolicy, Invalid> {
        BreakerPolicy::new(Consecutive::new(self.fail_threshold)?)
            .with_open_for(self.recovery_timeout.duration().unwrap_or_default())?
            .with_max_trials(self.half_open_max_calls)
    }
}

struct Ours {
    table: SharedTable<String>,
    policy: BreakerPolicy,
    now: Instant,
    in_flight: HashMap<u64, Begun>,
}

/// A call under way. It holds its breaker's handle, so that the entry is in use.
struct Begun {
    method: String,
    breaker: Handle,
    permit: Permit,
}

impl Ours {
    /// The kit's calls have no deadline and are awaited until they end, and a driver of ours that
    /// awaits such a call says so. Without this a trial would lose its lease.
    fn keep_leases(&self) {
        for begun in self.in_flight.values() {
            begun.breaker.renew(self.now, &begun.permit, &self.policy);
        }
    }

    fn begin(&mut self, call: u64, method: &str, step: &mut Step) {
        if self.table.get(method).is_none() {
            step.changed(method, "closed");
        }
        step.admitted = Some(true);
        let Some(breaker) = self.table.lookup(self.now, method).handle else { return };
        match breaker.admit(self.now, Deadline::NONE, &self.policy) {
            Ok(permit) => {
                if let Some(transition) = permit.transition() {
                    step.changed(method, transition.state().name());
                }
                let begun = Begun { method: method.into(), breaker, permit };
                self.in_flight.insert(call, begun);
            }
            Err(_) => step.refused(method),
        }
    }

    /// Whether the call was let out at all.
    fn end(&mut self, call: u64, report: &Report, step: &mut Step) -> bool {
        let Some(begun) = self.in_flight.remove(&call) else { return false };
        let Begun { method, breaker, permit } = begun;
        let verdict = self.policy.verdict(report);
        if let Some(transition) = breaker.record(self.now, permit, verdict, &self.policy) {
            step.changed(&method, transition.state().name());
        }
        true
    }

    fn show(&self) -> Vec<Shown> {
        let mut shown: Vec<_> =
            self.table.snapshots().into_iter().map(|(method, it)| show(method, &it)).collect();
        shown.sort_by(|a, b| a.method.cmp(&b.method));
        shown
    }
}

fn show(method: String, snapshot: &Snapshot) -> Shown {
    Shown {
        method,
        state: snapshot.state.name().into(),
        failures: snapshot.failures,
        trials: snapshot.trials,
        // Half-open it also knows when it opened, which the recordings do not show.
        last_failure: snapshot.retry_at.and(snapshot.opened_at).map(Seconds::from),
    }
}
