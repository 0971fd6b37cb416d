//! This file knows what a recorded scenario of calls under breakers is, and what each step shows.

mod kit;
mod ours;

pub(super) use kit::Circuit;

use evenkeel_core::{Code, Invalid, Outcome, Report, Weight};
use serde::Deserialize;
use serde_json::Value;

use super::{Kind, Rule, Rules, Seconds};

/// Calls of several methods, under one table of breakers.
pub(super) enum Breaker {}

impl Kind for Breaker {
    type Scenario = Scenario;
    type Trace = Vec<Step>;
    type Step = Step;

    const RULES: &'static [Rule] = &[
        Rule::Boundary,
        Rule::Epoch,
        Rule::InUse,
        Rule::LateFailureMovesWindow,
        Rule::RestartedCount,
        Rule::ShrinksBack,
    ];

    fn kit(scenario: &Scenario, rules: Rules) -> Vec<Step> {
        kit::run(scenario, rules)
    }

    fn ours(scenario: &Scenario) -> Result<Vec<Step>, Invalid> {
        ours::run(scenario)
    }

    fn steps(trace: Vec<Step>) -> Vec<Step> {
        trace
    }

    /// Our table shows its entries in no order, and of failures only the one that opened.
    fn comparable(mut step: Step) -> Step {
        for shown in &mut step.states {
            if shown.state != "open" {
                shown.last_failure = None;
            }
        }
        step.states.sort_by(|a, b| a.method.cmp(&b.method));
        step
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    config: Config,
    ops: Vec<Op>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    fail_threshold: u16,
    recovery_timeout: Seconds,
    /// A scenario of a single call cannot reach the trials, and leaves these two out.
    #[serde(default = "one")]
    half_open_max_calls: u8,
    #[serde(default = "many")]
    max_methods: usize,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<Value>")]
enum Op {
    Advance(Seconds),
    Begin { call: u64, method: String },
    End { call: u64, how: How },
}

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// Its caller went away.
    Cancelled,
    Code(Code),
    /// An error that is none of gRPC's.
    Exception,
}

/// What the scenario shows after an operation; the fields are the recording's.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    admitted: Option<bool>,
    error: Option<String>,
    result: Option<String>,
    states: Vec<Shown>,
    metrics: Vec<Vec<String>>,
}

/// One breaker, written as a list of five.
#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Shown {
    method: String,
    state: String,
    failures: u16,
    trials: u8,
    last_failure: Option<Seconds>,
}

impl Step {
    fn refused(&mut self, method: &str) {
        self.admitted = Some(false);
        self.error = Some("REJECTED".into());
        self.metrics.push(vec!["rejected".into(), method.into()]);
    }

    fn changed(&mut self, method: &str, state: &str) {
        self.metrics.push(vec!["state".into(), method.into(), state.into()]);
    }
}

impl How {
    /// What the caller sees, as the recording words it.
    fn told(self) -> &'static str {
        match self {
            Self::Cancelled => "CANCEL",
            Self::Code(code) => code.name(),
            Self::Exception => "RuntimeError",
        }
    }

    /// The same for a machine of ours, which knows nothing that is not a code.
    fn report(self) -> Report {
        let (code, weight) = match self {
            Self::Cancelled => (Code::Cancelled, Weight::Cancelled),
            Self::Code(code) => (code, Weight::Counts),
            Self::Exception => (Code::Unknown, Weight::Counts),
        };
        Report { outcome: Outcome::new(code), took: Seconds::ZERO.micros(), weight }
    }
}

impl TryFrom<Vec<Value>> for Op {
    type Error = String;

    fn try_from(words: Vec<Value>) -> Result<Self, String> {
        let op = match words.as_slice() {
            [name, span] if name == "advance" => Seconds::deserialize(span).ok().map(Self::Advance),
            [name, call, method] if name == "begin" => call
                .as_u64()
                .zip(method.as_str())
                .map(|(call, method)| Self::Begin { call, method: method.into() }),
            [name, call, how] if name == "end" => call
                .as_u64()
                .zip(how.as_str().and_then(how_named))
                .map(|(call, how)| Self::End { call, how }),
            _ => None,
        };
        op.ok_or_else(|| format!("no operation: {words:?}"))
    }
}

/// The ending a recording calls `name`.
pub(super) fn how_named(name: &str) -> Option<How> {
    match name {
        "CANCEL" => Some(How::Cancelled),
        "EXC" => Some(How::Exception),
        _ => Code::from_name(name).map(How::Code),
    }
}

const fn one() -> u8 {
    1
}

const fn many() -> usize {
    1_000
}
