//! This file knows what a recorded scenario of a request budget is, what the kit's budget answers,
//! and how ours is asked.

use std::collections::BTreeMap;

use evenkeel_core::{BudgetPolicy, DeadlineBudget, Instant, Invalid};
use evenkeel_tokio::{Budget as TaskBudget, RequestBudget};
use serde::Deserialize;
use serde_json::Value;

use super::{Kind, Rule, Rules, Seconds};

/// A request budget under a clock that moves on, asked for calls and for what is left.
pub(super) enum Budget {}

impl Kind for Budget {
    type Scenario = Scenario;
    type Trace = Trace;
    type Step = Answer;

    const RULES: &'static [Rule] = &[Rule::NeverNegative];

    fn kit(scenario: &Scenario, rules: Rules) -> Trace {
        if scenario.total <= Seconds::ZERO {
            return Trace(vec![Answer::NotMade(Setting::Total)]);
        }
        if scenario.safety_margin >= scenario.total {
            return Trace(vec![Answer::NotMade(Setting::SafetyMargin)]);
        }
        let mut now = Seconds::ZERO;
        Trace(scenario.ops.iter().map(|op| scenario.kit_answers(op, &mut now, rules)).collect())
    }

    fn ours(scenario: &Scenario) -> Result<Trace, Invalid> {
        let Scenario { total, safety_margin, min_timeout, caps, ops } = scenario;
        let budget = match open(*total, *safety_margin, *min_timeout, caps.as_ref()) {
            Ok(budget) => budget,
            Err(invalid) => return Ok(Trace(vec![Answer::NotMade(Setting::named(invalid)?)])),
        };
        let mut now = Instant::ZERO;
        Ok(Trace(ops.iter().map(|op| our_answer(&budget, op, &mut now)).collect()))
    }

    fn steps(trace: Trace) -> Vec<Answer> {
        trace.0
    }

    fn comparable(step: Answer) -> Answer {
        step
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    total: Seconds,
    safety_margin: Seconds,
    min_timeout: Seconds,
    caps: Option<Caps>,
    ops: Vec<Op>,
}

/// The most each method may be granted.
pub(super) type Caps = BTreeMap<String, Seconds>;

#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<Value>")]
enum Op {
    Advance(Seconds),
    Call { method: String, reserve: Seconds },
    Expired,
    Remaining,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Trace(Vec<Answer>);

/// What one operation answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Expired(bool),
    /// A budget like that cannot be made, for this setting; the only answer then.
    NotMade(Setting),
    Nothing,
    /// What is left, or granted.
    Span(Seconds),
    Spent {
        elapsed: Seconds,
        total: Seconds,
        /// The same for people: the second half of the message.
        told: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Setting {
    SafetyMargin,
    Total,
}

impl Scenario {
    fn kit_answers(&self, op: &Op, now: &mut Seconds, rules: Rules) -> Answer {
        let total = self.total - self.safety_margin;
        let left = total - *now;
        match op {
            Op::Advance(span) => {
                *now = *now + *span;
                Answer::Nothing
            }
            Op::Expired => Answer::Expired(left <= Seconds::ZERO),
            Op::Remaining if left < Seconds::ZERO && rules.contains(Rule::NeverNegative) => {
                Answer::Span(Seconds::ZERO)
            }
            Op::Remaining => Answer::Span(left),
            Op::Call { method, reserve } => {
                let cap = self.caps.as_ref().and_then(|caps| caps.get(method)).copied();
                match kit_grants(left, *reserve, self.min_timeout, cap) {
                    Some(granted) => Answer::Span(granted),
                    None => Answer::Spent { elapsed: *now, total, told: told(*now, total) },
                }
            }
        }
    }
}

/// What the kit grants of what is `left`; `None` when nothing is.
pub(super) fn kit_grants(
    left: Seconds,
    reserve: Seconds,
    floor: Seconds,
    cap: Option<Seconds>,
) -> Option<Seconds> {
    let available = (left - reserve).max(floor);
    (left > Seconds::ZERO).then(|| cap.map_or(available, |cap| cap.min(available)))
}

/// The numbers in the kit's message.
pub(super) fn told(elapsed: Seconds, total: Seconds) -> String {
    let (elapsed, total) = (elapsed.as_secs(), total.as_secs());
    format!("{elapsed:.2}s elapsed, budget was {total:.2}s")
}

/// A budget of ours that was made at the clock's start.
pub(super) fn open(
    total: Seconds,
    safety_margin: Seconds,
    min_timeout: Seconds,
    caps: Option<&Caps>,
) -> Result<TaskBudget, Invalid> {
    let policy = BudgetPolicy::DEFAULT
        .with_safety_margin(safety_margin.duration().unwrap_or_default())?
        .with_min_timeout(min_timeout.duration().unwrap_or_default())?;
    // A total below zero cannot even be written down in Rust; zero is refused for it.
    let total = total.duration().unwrap_or_default();
    let mut budget = TaskBudget::from(DeadlineBudget::new(Instant::ZERO, total, policy)?);
    for (method, cap) in caps.into_iter().flatten() {
        budget = budget.with_cap(method, cap.duration().unwrap_or_default())?;
    }
    Ok(budget)
}

fn our_answer(budget: &TaskBudget, op: &Op, now: &mut Instant) -> Answer {
    match op {
        Op::Advance(span) => {
            *now = *now + span.micros();
            Answer::Nothing
        }
        Op::Expired => Answer::Expired(budget.is_expired(*now)),
        Op::Remaining => Answer::Span(budget.remaining(*now).into()),
        Op::Call { method, reserve } => match budget.grant(*now, method, reserve.micros()) {
            Ok(granted) => Answer::Span(granted.into()),
            Err(spent) => Answer::Spent {
                elapsed: spent.elapsed.into(),
                total: spent.total.into(),
                told: after_colon(&spent.to_string()),
            },
        },
    }
}

impl Setting {
    fn named(invalid: Invalid) -> Result<Self, Invalid> {
        match invalid.field() {
            "budget.safety_margin" => Ok(Self::SafetyMargin),
            "budget.total" => Ok(Self::Total),
            _ => Err(invalid),
        }
    }
}

/// The half of a message that gives the numbers; the other is worded differently.
pub(super) fn after_colon(message: &str) -> String {
    message.rsplit_once(": ").map_or(message, |(_, numbers)| numbers).into()
}

impl TryFrom<Vec<Value>> for Op {
    type Error = String;

    fn try_from(words: Vec<Value>) -> Result<Self, String> {
        let op = match words.as_slice() {
            [name] if name == "expired" => Some(Self::Expired),
            [name] if name == "remaining" => Some(Self::Remaining),
            [name, span] if name == "advance" => Seconds::deserialize(span).ok().map(Self::Advance),
            [name, method, reserve] if name == "call" => method
                .as_str()
                .zip(Seconds::deserialize(reserve).ok())
                .map(|(method, reserve)| Self::Call { method: method.into(), reserve }),
            _ => None,
        };
        op.ok_or_else(|| format!("no operation: {words:?}"))
    }
}

impl TryFrom<Value> for Trace {
    type Error = String;

    fn try_from(recorded: Value) -> Result<Self, String> {
        match recorded {
            Value::Array(answers) => answers.iter().map(answer).collect::<Result<_, _>>().map(Self),
            refused => match refused["construct_error"].as_str() {
                Some(NO_TOTAL) => Ok(Self(vec![Answer::NotMade(Setting::Total)])),
                Some(WIDE_MARGIN) => Ok(Self(vec![Answer::NotMade(Setting::SafetyMargin)])),
                _ => Err(format!("no trace: {refused}")),
            },
        }
    }
}

fn answer(recorded: &Value) -> Result<Answer, String> {
    let seconds = |value: &Value| Seconds::deserialize(value).map_err(|error| error.to_string());
    match recorded {
        Value::Null => Ok(Answer::Nothing),
        Value::Bool(expired) => Ok(Answer::Expired(*expired)),
        Value::Number(_) => seconds(recorded).map(Answer::Span),
        spent => Ok(Answer::Spent {
            elapsed: seconds(&spent["elapsed"])?,
            total: seconds(&spent["budget"])?,
            told: after_colon(spent["error"].as_str().ok_or("no message")?),
        }),
    }
}

const NO_TOTAL: &str = "total_seconds must be positive";
const WIDE_MARGIN: &str = "safety_margin must be less than total_seconds";
