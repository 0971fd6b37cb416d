//! This file knows how scenarios stand in a file, and refuses what is not understood.

use evenkeel_core::Micros;
use evenkeel_settings::Settings;
use serde::{Deserialize, Deserializer, de::Error};
use toml::{Table, Value};

use crate::look::{Look, Shows};
use crate::scenario::{Call, Scenario, consecutive};
use crate::time::Seconds;
use crate::trace::Trace;
use crate::{Answer, METHODS};

/// A file: what its scenarios have in common, and each of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    /// What a section of a policy says unless a scenario says otherwise. A section that a scenario
    /// does not have stays absent.
    #[serde(default)]
    defaults: Table,
    scenario: Vec<RawScenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    /// The rows of the page it is.
    ids: Vec<String>,
    title: String,
    /// In the words of a settings file.
    #[serde(default)]
    policy: Table,
    /// What becomes of each attempt, whichever call makes it; the last goes on for ever.
    #[serde(default)]
    answers: Vec<Answer>,
    /// When the server begins to listen; from the beginning unless said.
    listens: Option<Seconds>,
    /// One at 0 unless said.
    #[serde(default)]
    calls: Vec<RawCall>,
    /// What each call does, in the order of `calls`.
    expected: Vec<RawTrace>,
    #[serde(default)]
    shown: Vec<RawLook>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    at: Seconds,
    /// Without its service.
    method: Option<Method>,
    /// The caller's own limit.
    within: Option<Seconds>,
    /// When the caller goes away.
    cancel: Option<Seconds>,
    /// What becomes of its attempts, in place of the scenario's answers.
    #[serde(default)]
    answers: Vec<Answer>,
    /// Whether it is outside the request and its budget.
    #[serde(default)]
    detached: bool,
    /// Whether its request cannot be given a second time.
    #[serde(default)]
    once: bool,
    /// Whether it says itself that it waits for a connection, or does not.
    waits: Option<bool>,
    /// This many such calls, of which the times expected are told from the start of each.
    times: Option<u16>,
    /// How long after each of them the next starts.
    every: Option<Seconds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLook {
    at: Seconds,
    method: Option<Method>,
    breaker: Option<String>,
    tokens: Option<Seconds>,
}

struct RawTrace(Trace);

impl<'de> Deserialize<'de> for RawTrace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

/// A method of the lab, by its own name.
#[derive(Clone, Copy)]
struct Method(&'static str);

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = METHODS.iter().find(|known| known.ends_with(&format!("/{name}")));
        let wrong = || D::Error::custom(format!("{name:?} is none of {METHODS:?}"));
        known.map(|known| Self(known)).ok_or_else(wrong)
    }
}

/// The scenarios of a file.
///
/// # Errors
///
/// What is not understood, with its place in the file or the scenario it is in.
pub(crate) fn read(text: &str) -> Result<Vec<Scenario>, String> {
    let file: RawFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let defaults = &file.defaults;
    let read = |raw: RawScenario| {
        let name = raw.title.clone();
        raw.checked(defaults).map_err(|why| format!("{name}: {why}"))
    };
    file.scenario.into_iter().map(read).collect()
}

impl RawScenario {
    fn checked(self, defaults: &Table) -> Result<Scenario, String> {
        let mut calls = self.calls;
        if calls.is_empty() {
            calls.push(RawCall::default());
        }
        if calls.len() != self.expected.len() {
            let (made, told) = (calls.len(), self.expected.len());
            return Err(format!("{made} calls, and expected tells of {told}"));
        }
        let answers = self.answers;
        let calls = calls.iter().zip(self.expected);
        let calls = calls.map(|(call, RawTrace(trace))| call.all(&answers, &trace));
        let calls = calls.collect::<Result<Vec<_>, _>>()?.concat();
        let settings = settings(self.policy, defaults)?;
        if settings.breaker().is_some_and(|breaker| consecutive(breaker).is_none()) {
            return Err("policy.breaker: a script has consecutive ones only".into());
        }
        let shown = self.shown.iter().map(RawLook::checked).collect::<Result<_, _>>()?;
        Ok(Scenario {
            ids: self.ids,
            title: self.title,
            settings,
            answers,
            listens: self.listens.map(|at| at.0),
            calls,
            looks: shown,
        })
    }
}

impl RawCall {
    /// The calls it stands for.
    fn all(&self, answers: &[Answer], expected: &Trace) -> Result<Vec<Call>, String> {
        if self.answers.is_empty() && answers.is_empty() && !expected.sent.is_empty() {
            return Err("nobody answers its attempts".into());
        }
        let times = self.times.unwrap_or(1);
        let step = match (self.times, self.every) {
            (None, None) => Micros::ZERO,
            (Some(_), Some(step)) => step.0,
            _ => return Err("times and every go together".into()),
        };
        let one = |number: u16| {
            let after = Micros::from_micros(step.as_micros() * u64::from(number));
            let at = self.at.0.plus(after);
            let told_from = if self.times.is_some() { at } else { Micros::ZERO };
            Call {
                at,
                method: self.method.unwrap_or(Method(METHODS[0])).0,
                within: self.within.map(|span| span.0),
                cancel: self.cancel.map(|at| at.0.plus(after)),
                answers: self.answers.clone(),
                in_budget: !self.detached,
                once: self.once,
                waits: self.waits,
                expected: expected.later(told_from),
            }
        };
        Ok((0..times).map(one).collect())
    }
}

impl RawLook {
    fn checked(&self) -> Result<Look, String> {
        let shows = match (&self.breaker, self.tokens) {
            (Some(circuit), None) => {
                let method = self.method.unwrap_or(Method(METHODS[0])).0;
                Shows::Breaker(method, circuit.parse()?)
            }
            (None, Some(tokens)) if self.method.is_none() => {
                let millitokens = tokens.0.as_micros() / 1_000;
                Shows::Tokens(u32::try_from(millitokens).map_err(|error| error.to_string())?)
            }
            _ => return Err("shown: a look is at a breaker or at the tokens".into()),
        };
        Ok(Look { at: self.at.0, shows })
    }
}

/// What the policy says, and in its sections the defaults.
fn settings(mut policy: Table, defaults: &Table) -> Result<Settings, String> {
    for (section, said) in &mut policy {
        if let (Some(Value::Table(usual)), Value::Table(said)) = (defaults.get(section), said) {
            for (key, value) in usual {
                said.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
    Value::Table(policy).try_into().map_err(|error| format!("policy: {error}"))
}
