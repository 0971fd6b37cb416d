//! This file knows what a recorded scenario of health checks is: the intervals, and what each
//! target answers to one check after the other.

mod kit;
mod ours;

use std::collections::BTreeMap;

use evenkeel_core::Invalid;
use serde::Deserialize;

use super::{Kind, Rule, Rules, Seconds};

/// A checker of up to three targets, that runs for a while and is stopped.
pub(super) enum Health {}

impl Kind for Health {
    type Scenario = Scenario;
    type Trace = Trace;
    type Step = Step;

    const RULES: &'static [Rule] = &[Rule::HealthBit, Rule::IndependentTargets];

    fn kit(scenario: &Scenario, rules: Rules) -> Trace {
        kit::run(scenario, rules)
    }

    fn ours(scenario: &Scenario) -> Result<Trace, Invalid> {
        ours::run(scenario)
    }

    fn settled(scenario: &Scenario, recorded: Trace) -> Trace {
        scenario.settled(recorded)
    }

    /// In the order in which they happen; of one instant, in the order of [`Event`].
    fn steps(trace: Trace) -> Vec<Step> {
        let asked = trace.probes.into_iter().map(|(at, target)| (at, Event::Asked(target)));
        let dropped =
            trace.dropped_channels.into_iter().map(|(at, target)| (at, Event::Dropped(target)));
        let told = trace.callbacks.into_iter();
        let told = told.map(|(at, target, healthy)| (at, Event::Told(target, healthy)));
        let mut events: Vec<_> = asked.chain(dropped).chain(told).collect();
        events.sort();
        let mut steps: Vec<Step> = events.into_iter().map(|(at, one)| Step::At(at, one)).collect();
        steps.push(Step::End {
            ready_at: trace.ready_at.filter(|_| trace.ready),
            healthy: trace.healthy,
            failures: trace.fail_counts,
            running: trace.running,
        });
        steps
    }

    fn comparable(step: Step) -> Step {
        step
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    check_interval: Seconds,
    timeout: Seconds,
    max_backoff: Seconds,
    /// What each answers and after how long; the last repeats.
    targets: BTreeMap<String, Vec<(Seconds, String)>>,
    /// When it is stopped.
    run_for: Seconds,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trace {
    ready: bool,
    ready_at: Option<Seconds>,
    probes: Vec<(Seconds, String)>,
    callbacks: Vec<(Seconds, String, bool)>,
    dropped_channels: Vec<(Seconds, String)>,
    healthy: BTreeMap<String, bool>,
    running: bool,
    /// Failures in a row at the end, unless the end decides a tie.
    fail_counts: BTreeMap<String, Option<u32>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    At(Seconds, Event),
    End {
        ready_at: Option<Seconds>,
        healthy: BTreeMap<String, bool>,
        failures: BTreeMap<String, Option<u32>>,
        running: bool,
    },
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Event {
    Asked(String),
    Dropped(String),
    Told(String, bool),
}

impl Scenario {
    /// What comes of the check after `before` others: how long it takes, and the answer. No answer
    /// within the timeout is `None`, and so is an error.
    fn check(&self, target: &str, before: usize) -> (Seconds, Option<&str>) {
        let script = self.targets.get(target).map_or(&[][..], Vec::as_slice);
        let last = script.len().saturating_sub(1);
        match script.get(before.min(last)) {
            Some((latency, answer)) if *latency < self.timeout => {
                (*latency, Some(answer.as_str()).filter(|answer| *answer != "ERR"))
            }
            _ => (self.timeout, None),
        }
    }

    /// A check that ends in the very instant in which the recording does was counted in one
    /// recording and not in two others. Whether it is, is left open.
    fn settled(&self, mut trace: Trace) -> Trace {
        for (target, failures) in &mut trace.fail_counts {
            let starts: Vec<Seconds> =
                trace.probes.iter().filter(|(_, of)| of == target).map(|(at, _)| *at).collect();
            let Some(last) = starts.last() else { continue };
            if *last + self.check(target, starts.len() - 1).0 == self.run_for {
                *failures = None;
            }
        }
        trace
    }
}
