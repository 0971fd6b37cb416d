//! This file knows what the kit's breakers do, with a switch for each intended difference.
//!
//! A switch is read only where the precondition of its difference holds, so that it can excuse
//! nothing else. Written from the kit's behaviour alone: of the core it borrows the names of the
//! codes and nothing that decides, because the core's faults are what it is there to notice.

use std::collections::HashMap;

use evenkeel_core::Code;

use super::{Config, How, Op, Rule, Rules, Scenario, Seconds, Shown, Step};

pub(super) fn run(scenario: &Scenario, rules: Rules) -> Vec<Step> {
    let config = &scenario.config;
    let mut kit = Kit { config, rules, now: Seconds::ZERO, circuits: vec![], recent: vec![] };
    let mut calls = HashMap::new();
    let mut steps = vec![];
    for op in &scenario.ops {
        let mut step = Step::default();
        match op {
            Op::Advance(span) => kit.now = kit.now + *span,
            Op::Begin { call, method } => {
                calls.insert(call, kit.begin(method, &mut step));
            }
            Op::End { call, how } => match calls.remove(call).flatten() {
                Some(begun) => kit.end(begun, *how, &mut step),
                None => step.result = Some("REJECTED".into()),
            },
        }
        step.states = kit.show();
        steps.push(step);
    }
    steps
}

struct Kit<'a> {
    config: &'a Config,
    rules: Rules,
    now: Seconds,
    /// All that ever were. An evicted one lives on for the calls that hold it.
    circuits: Vec<Circuit>,
    /// The methods that have one, least recently used first.
    recent: Vec<(String, usize)>,
}

/// A call under way.
struct Begun {
    method: String,
    circuit: usize,
    pass: Pass,
}

impl Kit<'_> {
    fn begin(&mut self, method: &str, step: &mut Step) -> Option<Begun> {
        let index = self.find_or_insert(method, step);
        let circuit = &mut self.circuits[index];
        let before = circuit.state;
        let Some(pass) = circuit.admit(self.now, self.config, self.rules) else {
            step.refused(method);
            return None;
        };
        if circuit.state != before {
            step.changed(method, circuit.state);
        }
        circuit.in_flight += 1;
        step.admitted = Some(true);
        Some(Begun { method: method.into(), circuit: index, pass })
    }

    fn end(&mut self, begun: Begun, how: How, step: &mut Step) {
        let circuit = &mut self.circuits[begun.circuit];
        let before = circuit.state;
        circuit.record(self.now, begun.pass, how, self.config, self.rules);
        if circuit.state != before {
            step.changed(&begun.method, circuit.state);
        }
        circuit.in_flight -= 1;
        step.result = Some(how.told().into());
    }

    fn find_or_insert(&mut self, method: &str, step: &mut Step) -> usize {
        let entry = match self.recent.iter().position(|(known, _)| known == method) {
            Some(place) => self.recent.remove(place),
            None => {
                self.make_room();
                self.circuits.push(Circuit::new());
                step.changed(method, CLOSED);
                (method.into(), self.circuits.len() - 1)
            }
        };
        let index = entry.1;
        self.recent.push(entry);
        index
    }

    fn make_room(&mut self) {
        let excess = (self.recent.len() + 1).saturating_sub(self.config.max_methods);
        let grown = excess > 1;
        let drops = if grown && !self.rules.contains(Rule::ShrinksBack) { 1 } else { excess };
        for _ in 0..drops {
            let quiet = |circuit: &Circuit| circuit.state == CLOSED && circuit.failures == 0;
            let closed = |circuit: &Circuit| circuit.state == CLOSED;
            let Some(victim) = self.oldest(quiet).or_else(|| self.oldest(closed)) else { return };
            self.recent.remove(victim);
        }
    }

    fn oldest(&self, may_go: impl Fn(&Circuit) -> bool) -> Option<usize> {
        self.recent.iter().position(|(_, index)| {
            let circuit = &self.circuits[*index];
            let kept = circuit.in_flight > 0 && self.rules.contains(Rule::InUse);
            may_go(circuit) && !kept
        })
    }

    fn show(&self) -> Vec<Shown> {
        let shown = self.recent.iter().map(|(method, index)| {
            let circuit = &self.circuits[*index];
            Shown {
                method: method.clone(),
                state: circuit.state.into(),
                failures: circuit.failures,
                trials: circuit.trials,
                last_failure: circuit.last_failure,
            }
        });
        shown.collect()
    }
}

/// The kit's breaker of one method.
#[derive(Debug)]
pub(in super::super) struct Circuit {
    state: &'static str,
    failures: u16,
    trials: u8,
    last_failure: Option<Seconds>,
    /// How often the state has changed. The kit does not count this; our rules need it.
    period: u32,
    in_flight: u32,
}

/// Leave for one call.
#[derive(Debug)]
pub(in super::super) struct Pass {
    trial: bool,
    period: u32,
}

impl Circuit {
    pub(in super::super) const fn new() -> Self {
        Self { state: CLOSED, failures: 0, trials: 0, last_failure: None, period: 0, in_flight: 0 }
    }

    /// The state by name, and the failures shown with it.
    pub(in super::super) const fn shown(&self) -> (&'static str, u16) {
        (self.state, self.failures)
    }

    pub(in super::super) fn admit(
        &mut self,
        now: Seconds,
        config: &Config,
        rules: Rules,
    ) -> Option<Pass> {
        if self.state == OPEN {
            let ends = self.last_failure.unwrap_or_default() + config.recovery_timeout;
            let just_over = now == ends && rules.contains(Rule::Boundary);
            if now <= ends && !just_over {
                return None;
            }
            self.enter(HALF_OPEN);
            if rules.contains(Rule::RestartedCount) {
                self.failures = 0;
            }
        }
        let trial = self.state == HALF_OPEN;
        if trial {
            if self.trials >= config.half_open_max_calls {
                return None;
            }
            self.trials += 1;
        }
        Some(Pass { trial, period: self.period })
    }

    pub(in super::super) fn record(
        &mut self,
        now: Seconds,
        pass: Pass,
        how: How,
        config: &Config,
        rules: Rules,
    ) {
        // Whoever reports to an open circuit was let out before it opened.
        let excuse = if self.state == OPEN { Rule::LateFailureMovesWindow } else { Rule::Epoch };
        if pass.period != self.period && rules.contains(excuse) {
            return;
        }
        if fails(how) {
            self.failures += 1;
            self.last_failure = Some(now);
            let tripped = self.state == CLOSED && self.failures >= config.fail_threshold;
            if tripped || self.state == HALF_OPEN {
                self.enter(OPEN);
            }
        } else if matches!(how, How::Code(Code::Ok)) && self.state != OPEN {
            self.failures = 0;
            if self.state == HALF_OPEN {
                self.enter(CLOSED);
            }
        }
        if pass.trial && self.state == HALF_OPEN {
            self.trials = self.trials.saturating_sub(1);
        }
    }

    fn enter(&mut self, state: &'static str) {
        self.state = state;
        self.trials = 0;
        self.period += 1;
    }
}

fn fails(how: How) -> bool {
    match how {
        How::Cancelled => false,
        How::Code(code) => FAILURES.contains(&code.name()),
        How::Exception => true,
    }
}

const FAILURES: [&str; 7] = [
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
    "RESOURCE_EXHAUSTED",
    "ABORTED",
    "UNKNOWN",
    "DATA_LOSS",
];

const CLOSED: &str = "closed";
const HALF_OPEN: &str = "half-open";
const OPEN: &str = "open";
