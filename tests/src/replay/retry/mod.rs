//! This file knows what a recorded scenario of one call is: its policies, and the script of what
//! comes of each attempt.

mod kit;
mod ours;

use std::collections::BTreeMap;

use evenkeel_core::Invalid;
use serde::Deserialize;

use super::breaker::Config;
use super::budget::Caps;
use super::{Kind, Rule, Rules, Seconds};

/// One call with retries, under a budget and a breaker.
pub(super) enum Retry {}

impl Kind for Retry {
    type Scenario = Scenario;
    type Trace = Trace;
    type Step = Step;

    const RULES: &'static [Rule] = &[Rule::EmptyAllowList, Rule::ShortSlice, Rule::ZeroSlice];

    fn kit(scenario: &Scenario, rules: Rules) -> Trace {
        kit::run(scenario, rules)
    }

    fn ours(scenario: &Scenario) -> Result<Trace, Invalid> {
        ours::run(scenario)
    }

    /// In the order in which they happen: every attempt, and the wait after it.
    fn steps(trace: Trace) -> Vec<Step> {
        let mut retries = trace.retries.into_iter();
        let mut steps = vec![];
        for attempt in trace.attempts {
            steps.push(Step::Attempt(attempt));
            steps.extend(retries.next().map(Step::Retry));
        }
        steps.extend(retries.map(Step::Retry));
        steps.push(Step::End { told: trace.told, elapsed: trace.elapsed });
        steps.push(Step::Breakers(trace.breaker));
        steps
    }

    fn comparable(step: Step) -> Step {
        step
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    retry: Policy,
    /// The caller's own.
    call_timeout: Option<Seconds>,
    /// The configured one. Absent and 0 are the kit's "none".
    default_timeout: Option<Seconds>,
    budget: Option<Budget>,
    breaker: Option<Config>,
    /// What comes of each attempt and after how long; the last repeats.
    script: Vec<(Seconds, String)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    max_attempts: u16,
    initial_backoff: Seconds,
    max_backoff: Seconds,
    backoff_multiplier: f64,
    /// Always 0: a draw of the kit's could not be repeated.
    #[serde(deserialize_with = "zero")]
    #[expect(dead_code, reason = "reading it is the check")]
    jitter: (),
    retryable_codes: Option<Vec<String>>,
    idempotent_methods: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    total: Seconds,
    min_timeout: Seconds,
    caps: Option<Caps>,
    reserve: Seconds,
    /// What is spent of it when the call is made.
    spent: Seconds,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trace {
    #[serde(rename = "final")]
    told: String,
    elapsed: Seconds,
    /// When each began, and the timeout it was given.
    attempts: Vec<(Seconds, Option<Seconds>)>,
    /// The number of each, the code before it, and the wait.
    retries: Vec<(u16, String, Seconds)>,
    /// State and failures by method, when breakers are configured.
    breaker: Option<BTreeMap<String, (String, u16)>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Attempt((Seconds, Option<Seconds>)),
    Breakers(Option<BTreeMap<String, (String, u16)>>),
    End { told: String, elapsed: Seconds },
    Retry((u16, String, Seconds)),
}

impl Scenario {
    fn default_timeout(&self) -> Option<Seconds> {
        self.default_timeout.filter(|timeout| *timeout > Seconds::ZERO)
    }

    /// How much longer than it was a recording shows a call: on its way up a successful reply
    /// moved the recording's clock on by its latency once more for each layer that was configured.
    fn overcounted(&self, trace: &Trace) -> Seconds {
        if trace.told != "OK" {
            return Seconds::ZERO;
        }
        let retry = true;
        let layers =
            [retry, self.default_timeout.is_some(), self.budget.is_some(), self.breaker.is_some()];
        let (latency, _) = self.scripted(trace.attempts.len().saturating_sub(1));
        latency.times(layers.into_iter().map(f64::from).sum())
    }

    /// What comes of the attempt after `before` others.
    fn scripted(&self, before: usize) -> (Seconds, &str) {
        let last = self.script.len().saturating_sub(1);
        self.script
            .get(before.min(last))
            .map_or((Seconds::ZERO, "OK"), |(latency, end)| (*latency, end.as_str()))
    }
}

fn zero<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match f64::deserialize(deserializer)? {
        0.0 => Ok(()),
        jitter => Err(serde::de::Error::custom(format!("jitter {jitter} cannot be replayed"))),
    }
}

/// The method every scenario calls.
const METHOD: &str = "/p.S/M";
