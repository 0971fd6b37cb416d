//! This file knows what the kit does with one call, with a switch for each intended difference.
//!
//! A switch is read only where the precondition of its difference holds. Like the model of the
//! breakers, it uses nothing of the core that decides.

use super::{METHOD, Rule, Rules, Scenario, Seconds, Trace};
use crate::replay::breaker::{Circuit, How, how_named};
use crate::replay::budget::kit_grants;

pub(super) fn run(scenario: &Scenario, rules: Rules) -> Trace {
    let mut kit = Kit {
        scenario,
        rules,
        now: Seconds::ZERO,
        ends: None,
        circuit: None,
        trace: Trace::default(),
    };
    kit.call();
    let Kit { circuit, now, mut trace, .. } = kit;
    trace.elapsed = now + scenario.overcounted(&trace);
    trace.breaker = scenario.breaker.as_ref().map(|_| {
        let shown = circuit.iter().map(Circuit::shown);
        shown.map(|(state, failures)| (METHOD.into(), (state.into(), failures))).collect()
    });
    trace
}

struct Kit<'a> {
    scenario: &'a Scenario,
    rules: Rules,
    /// Since the call was made.
    now: Seconds,
    /// When the call's time is up.
    ends: Option<Seconds>,
    circuit: Option<Circuit>,
    trace: Trace,
}

/// How an attempt ended.
struct Ended {
    code: String,
    /// By our own deadline.
    cut_off: bool,
    slice: Option<Seconds>,
}

impl Kit<'_> {
    fn call(&mut self) {
        let Some(timeout) = self.timeout() else {
            self.trace.told = "BUDGET_EXHAUSTED".into();
            return;
        };
        self.ends = timeout;
        loop {
            let Some(ended) = self.attempt() else { return };
            self.trace.told.clone_from(&ended.code);
            if ended.code == "OK" {
                return;
            }
            if !self.wants_another(&ended.code) {
                return;
            }
            let wait = self.backoff();
            if self.left().is_some_and(|left| left <= wait) {
                return;
            }
            let number = self.trace.attempts.len() as u16;
            self.trace.retries.push((number, ended.code, wait));
            self.now = self.now + wait;
        }
    }

    /// The timeout of the whole call: `Some(None)` for no limit, `None` when the budget is spent.
    fn timeout(&self) -> Option<Option<Seconds>> {
        let configured = self.scenario.default_timeout();
        let timeout = self.scenario.call_timeout.into_iter().chain(configured).min();
        let Some(budget) = &self.scenario.budget else { return Some(timeout) };
        let left = budget.total - budget.spent;
        let cap = budget.caps.as_ref().and_then(|caps| caps.get(METHOD)).copied();
        let granted = kit_grants(left, budget.reserve, budget.min_timeout, cap)?;
        Some(timeout.into_iter().chain([granted]).min())
    }

    fn attempt(&mut self) -> Option<Ended> {
        let slice = self.left();
        if slice == Some(Seconds::ZERO) && self.rules.contains(Rule::ZeroSlice) {
            self.trace.told = "DEADLINE_EXCEEDED".into();
            return None;
        }
        let config = self.scenario.breaker.as_ref();
        let (now, rules) = (self.now, self.rules);
        let mut pass = None;
        if let Some(config) = config {
            let circuit = self.circuit.get_or_insert_with(Circuit::new);
            pass = circuit.admit(now, config, rules);
            if pass.is_none() {
                self.trace.told = "REJECTED".into();
                return None;
            }
        }
        let ended = self.send(slice);
        if let (Some(config), Some(pass), Some(circuit)) = (config, pass, &mut self.circuit)
            && let Some(how) = how_named(&ended.code)
        {
            let how = if says_nothing(self.scenario, &ended, rules) { How::Cancelled } else { how };
            circuit.record(self.now, pass, how, config, rules);
        }
        Some(ended)
    }

    fn send(&mut self, slice: Option<Seconds>) -> Ended {
        let budget = self.scenario.budget.as_ref();
        let spent = budget.map_or(Seconds::ZERO, |budget| budget.spent);
        let (latency, code) = self.scenario.scripted(self.trace.attempts.len());
        self.trace.attempts.push((spent + self.now, slice));
        match slice.filter(|slice| *slice <= latency) {
            Some(slice) => {
                self.now = self.now + slice;
                Ended { code: "DEADLINE_EXCEEDED".into(), cut_off: true, slice: Some(slice) }
            }
            None => {
                self.now = self.now + latency;
                Ended { code: code.into(), cut_off: false, slice }
            }
        }
    }

    fn wants_another(&self, code: &str) -> bool {
        let policy = &self.scenario.retry;
        let retryable = match &policy.retryable_codes {
            Some(codes) => codes.iter().any(|listed| listed == code),
            None => ["UNAVAILABLE", "RESOURCE_EXHAUSTED"].contains(&code),
        };
        let allowed = match &policy.idempotent_methods {
            Some(list) if list.is_empty() => !self.rules.contains(Rule::EmptyAllowList),
            Some(list) => list.iter().any(|method| method == METHOD),
            None => true,
        };
        retryable && allowed && self.trace.attempts.len() < usize::from(policy.max_attempts)
    }

    fn backoff(&self) -> Seconds {
        let policy = &self.scenario.retry;
        let doublings = self.trace.attempts.len() as i32 - 1;
        let grown = policy.initial_backoff.times(policy.backoff_multiplier.powi(doublings));
        grown.min(policy.max_backoff)
    }

    fn left(&self) -> Option<Seconds> {
        self.ends.map(|ends| ends - self.now)
    }
}

/// Whether the attempt was cut off after less time than the method is normally given.
fn says_nothing(scenario: &Scenario, ended: &Ended, rules: Rules) -> bool {
    let normal = scenario.default_timeout().unwrap_or(SHORT).min(SHORT);
    let short = ended.slice.is_some_and(|slice| slice < normal);
    ended.cut_off && short && rules.contains(Rule::ShortSlice)
}

const SHORT: Seconds = Seconds::from_micros(100_000);
