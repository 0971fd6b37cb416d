//! This file knows how recordings of the Python kit `grpc-client-kit` are held against our
//! machines.
//!
//! Why a model between the two? A list of intended differences excuses anything, unless each is
//! checked to be what made the difference. So every kind of recording has a small model of the
//! kit with a switch for each intended difference, read only where the precondition of that
//! difference holds. With all switches off it must be the recording, and with all of them on it
//! must be what our machine does, in every step of every trace. Whatever fits neither is a
//! difference without a name, and there must be none.
//!
//! What a trace differs by is then a fact and not a guess: the fewest switches with which the
//! model does what our machine did.

mod balancer;
mod breaker;
mod budget;
mod details;
mod health;
mod report;
mod retry;
mod rules;
mod seconds;

pub use details::{Readiness, WaitForReady};
pub use report::{Summary, Unreadable};
pub use rules::{Rule, Rules};

use core::fmt::Debug;
use std::fs;
use std::path::Path;

use evenkeel_core::Invalid;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use balancer::Balancer;
use breaker::Breaker;
use budget::Budget;
use details::Details;
use health::Health;
use retry::Retry;
use seconds::Seconds;

/// Replays the traces of one file, whose name says of which kind they are: `balancer`, `breaker`,
/// `budget`, `details`, `health` or `retry`, and `.jsonl`.
///
/// # Errors
///
/// [`Unreadable`] when the file cannot be read or is of no known kind, and when a line is not a
/// trace of that kind down to the last field.
pub fn replay(path: &Path) -> Result<Summary, Unreadable> {
    let unreadable = |why: String| Unreadable::new(path, 0, why);
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    match path.file_name().and_then(|name| name.to_str()) {
        Some("balancer.jsonl") => replay_all::<Balancer>(path, &text),
        Some("breaker.jsonl") => replay_all::<Breaker>(path, &text),
        Some("budget.jsonl") => replay_all::<Budget>(path, &text),
        Some("details.jsonl") => replay_all::<Details>(path, &text),
        Some("health.jsonl") => replay_all::<Health>(path, &text),
        Some("retry.jsonl") => replay_all::<Retry>(path, &text),
        _ => Err(unreadable("its name is that of no kind of trace".into())),
    }
}

/// One kind of recording.
trait Kind {
    type Scenario: DeserializeOwned;
    type Trace: DeserializeOwned;
    type Step: Clone + Debug + PartialEq;

    /// The differences that are intended here.
    const RULES: &'static [Rule];

    /// What the kit does, and what it would do with some of our rules.
    fn kit(scenario: &Self::Scenario, rules: Rules) -> Self::Trace;

    /// What our machines do.
    fn ours(scenario: &Self::Scenario) -> Result<Self::Trace, Invalid>;

    /// The recording without what its end leaves open.
    fn settled(_scenario: &Self::Scenario, recorded: Self::Trace) -> Self::Trace {
        recorded
    }

    /// The trace in the order in which it happened.
    fn steps(trace: Self::Trace) -> Vec<Self::Step>;

    /// The step without what only the kit shows.
    fn comparable(step: Self::Step) -> Self::Step;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<S, T> {
    i: u32,
    scenario: S,
    trace: T,
}

fn replay_all<K: Kind>(path: &Path, text: &str) -> Result<Summary, Unreadable> {
    let mut summary = Summary::new(path);
    for (number, line) in text.lines().enumerate() {
        let unreadable = |why: String| Unreadable::new(path, number + 1, why);
        let line: Line<K::Scenario, K::Trace> =
            serde_json::from_str(line).map_err(|error| unreadable(error.to_string()))?;
        let recorded = K::steps(K::settled(&line.scenario, line.trace));
        let verdict = judge::<K>(&line.scenario, &recorded)
            .map_err(|invalid| unreadable(format!("our policies refuse it: {invalid}")))?;
        summary.count(line.i, recorded.len(), verdict);
    }
    if summary.traces == 0 {
        return Err(Unreadable::new(path, 0, "there is no trace in it".into()));
    }
    Ok(summary)
}

/// What came of one trace.
enum Verdict {
    /// Our machine did what the kit did.
    Agrees,
    /// It differs by these rules only: those behind the first difference, and behind all of them.
    Intended { first: Rules, all: Rules },
    /// Something differs that has no name.
    Otherwise {
        /// Where the model of the kit departs from the recording.
        from_kit: Option<String>,
        /// Where our machine departs from the model with all our rules.
        from_ours: Option<String>,
    },
}

fn judge<K: Kind>(scenario: &K::Scenario, recorded: &[K::Step]) -> Result<Verdict, Invalid> {
    let comparable =
        |steps: Vec<K::Step>| -> Vec<_> { steps.into_iter().map(K::comparable).collect() };
    let modelled = |rules| comparable(K::steps(K::kit(scenario, rules)));
    let rules = Rules::of(K::RULES);
    let ours = comparable(K::steps(K::ours(scenario)?));
    // The kit itself is compared in everything it shows.
    let from_kit = difference(recorded, &K::steps(K::kit(scenario, Rules::NONE)));
    let from_ours = difference(&modelled(rules), &ours);
    if from_kit.is_some() || from_ours.is_some() {
        return Ok(Verdict::Otherwise { from_kit, from_ours });
    }
    let Some(at) = first_difference(&comparable(recorded.to_vec()), &ours) else {
        return Ok(Verdict::Agrees);
    };
    let agree_before = |rules| first_difference(&modelled(rules), &ours).unwrap_or(usize::MAX);
    match (
        fewest(rules, |set| agree_before(set) > at),
        fewest(rules, |set| agree_before(set) == usize::MAX),
    ) {
        (Some(first), Some(all)) => Ok(Verdict::Intended { first, all }),
        _ => {
            let ambiguous = format!("step {at}: more than one set of rules explains it");
            Ok(Verdict::Otherwise { from_kit: None, from_ours: Some(ambiguous) })
        }
    }
}

/// The smallest set of `rules` that explains something; `None` if another of its size does too,
/// because it would then be a guess which of them it was.
fn fewest(rules: Rules, explains: impl Fn(Rules) -> bool) -> Option<Rules> {
    let mut sets = rules.subsets().into_iter().filter(|set| explains(*set));
    let smallest = sets.next()?;
    sets.next().is_none_or(|other| other.len() > smallest.len()).then_some(smallest)
}

fn first_difference<S: PartialEq>(a: &[S], b: &[S]) -> Option<usize> {
    let length = a.len().max(b.len());
    (0..length).find(|at| a.get(*at) != b.get(*at))
}

fn difference<S: Debug + PartialEq>(expected: &[S], found: &[S]) -> Option<String> {
    let at = first_difference(expected, found)?;
    let (expected, found) = (expected.get(at), found.get(at));
    Some(format!("step {at}:\n      expected {expected:?}\n      found    {found:?}"))
}
