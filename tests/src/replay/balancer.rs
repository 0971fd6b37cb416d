//! This file knows what a recorded scenario of a balancer is, whom the kit picks, and whom ours
//! does.

use std::collections::BTreeMap;

use evenkeel_core::{
    Balancer as Ours, Instant, Invalid, Micros, Outcome, Outlier, OutlierPolicy, Permit, Report,
    SmallRng, Standing, Strategy, Tried, Weight,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Kind, Rule, Rules, Seconds};

/// A balancer over up to three targets, whose health and failures change.
pub(super) enum Balancer {}

impl Kind for Balancer {
    type Scenario = Scenario;
    type Trace = Trace;
    type Step = Option<String>;

    /// None: the kit's rotation is ours.
    const RULES: &'static [Rule] = &[];

    fn kit(scenario: &Scenario, _rules: Rules) -> Trace {
        let mut kit = Kit::new(scenario);
        scenario.ops.iter().map(|op| kit.step(op)).collect()
    }

    fn ours(scenario: &Scenario) -> Result<Trace, Invalid> {
        let mut pool = Pool {
            scenario,
            now: Instant::ZERO,
            health: scenario.health.clone(),
            outliers: vec![Outlier::new(); scenario.targets.len()],
            balancer: Ours::new(Strategy::RoundRobin),
        };
        scenario.ops.iter().map(|op| pool.step(op)).collect()
    }

    fn steps(trace: Trace) -> Vec<Option<String>> {
        trace
    }

    fn comparable(step: Option<String>) -> Option<String> {
        step
    }
}

type Trace = Vec<Option<String>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[serde(deserialize_with = "round_robin")]
    #[expect(dead_code, reason = "reading it is the check")]
    strategy: (),
    targets: Vec<String>,
    /// Verdicts by target; absent without a health checker.
    health: Option<BTreeMap<String, Option<bool>>>,
    ops: Vec<Op>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<Value>")]
enum Op {
    Advance(Seconds),
    /// A target could not be reached, and is out for this long.
    Fail(String, Seconds),
    Health(String, Option<bool>),
    Pick,
}

impl TryFrom<Vec<Value>> for Op {
    type Error = serde_json::Error;

    fn try_from(op: Vec<Value>) -> Result<Self, Self::Error> {
        let name: String = serde_json::from_value(op.first().cloned().unwrap_or_default())?;
        let op = Value::Array(op);
        Ok(match name.as_str() {
            "advance" => Self::Advance(serde_json::from_value::<(String, Seconds)>(op)?.1),
            "fail" => {
                let (_, target, span) = serde_json::from_value::<(String, String, Seconds)>(op)?;
                Self::Fail(target, span)
            }
            "health" => {
                let (_, target, verdict) =
                    serde_json::from_value::<(String, String, Option<bool>)>(op)?;
                Self::Health(target, verdict)
            }
            "pick" => {
                serde_json::from_value::<(String,)>(op)?;
                Self::Pick
            }
            _ => return Err(serde::de::Error::custom(format!("unknown operation {name}"))),
        })
    }
}

/// The kit: a rotation that goes on behind the target it gave.
struct Kit<'a> {
    scenario: &'a Scenario,
    now: Seconds,
    health: Option<BTreeMap<String, Option<bool>>>,
    out_until: BTreeMap<&'a str, Seconds>,
    next: usize,
}

impl<'a> Kit<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let (health, out_until) = (scenario.health.clone(), BTreeMap::new());
        Self { scenario, now: Seconds::ZERO, health, out_until, next: 0 }
    }

    fn step(&mut self, op: &'a Op) -> Option<String> {
        match op {
            Op::Advance(span) => self.now = self.now + *span,
            Op::Fail(target, span) => {
                let until = self.now + *span;
                self.out_until.insert(target, until);
            }
            Op::Health(target, verdict) => set(&mut self.health, target, *verdict),
            Op::Pick => return Some(self.pick()),
        }
        None
    }

    fn pick(&mut self) -> String {
        let targets = &self.scenario.targets;
        let healthy = |target: &String| is_healthy(self.health.as_ref(), target);
        let out = |target: &String| {
            self.out_until.get(target.as_str()).is_some_and(|until| self.now < *until)
        };
        let anybody = targets.iter().any(|target| healthy(target) && !out(target));
        let found = (0..targets.len())
            .map(|step| (self.next + step) % targets.len())
            .find(|at| healthy(&targets[*at]) && !(anybody && out(&targets[*at])));
        match found {
            Some(at) => {
                self.next = at + 1;
                targets[at].clone()
            }
            None => NOBODY.to_owned(),
        }
    }
}

/// Ours: the machines, put together as a pool does.
struct Pool<'a> {
    scenario: &'a Scenario,
    now: Instant,
    health: Option<BTreeMap<String, Option<bool>>>,
    outliers: Vec<Outlier>,
    balancer: Ours,
}

impl Pool<'_> {
    fn step(&mut self, op: &Op) -> Result<Option<String>, Invalid> {
        match op {
            Op::Advance(span) => self.now = self.now + span.micros(),
            Op::Fail(target, span) => {
                let span = span.duration().unwrap_or_default();
                let policy = OutlierPolicy::DEFAULT.with_quarantine(span)?;
                let (outcome, took) = (Outcome::unavailable(), Micros::ZERO);
                let report = Report { outcome, took, weight: Weight::Counts };
                let at = self.scenario.targets.iter().position(|one| one == target);
                if let Some(outlier) = at.and_then(|at| self.outliers.get_mut(at)) {
                    outlier.record(self.now, &report, &policy);
                }
            }
            Op::Health(target, verdict) => set(&mut self.health, target, *verdict),
            Op::Pick => return Ok(Some(self.pick())),
        }
        Ok(None)
    }

    fn pick(&mut self) -> String {
        let targets = self.scenario.targets.iter().zip(&self.outliers);
        let standing = |(target, outlier): (&String, &Outlier)| {
            let healthy = is_healthy(self.health.as_ref(), target);
            if healthy { outlier.standing(self.now) } else { Standing::Down }
        };
        let members: Vec<Standing> = targets.map(standing).collect();
        let (mut rng, ask) = (SmallRng::seeded(1), |_| Ok(Permit::UNTRACKED));
        match self.balancer.pick(&&members[..], Tried::NONE, &mut rng, ask) {
            Ok((target, _)) => self.scenario.targets[usize::from(target.number())].clone(),
            Err(_) => NOBODY.to_owned(),
        }
    }
}

fn is_healthy(health: Option<&BTreeMap<String, Option<bool>>>, target: &str) -> bool {
    health.is_none_or(|health| health.get(target) == Some(&Some(true)))
}

fn set(health: &mut Option<BTreeMap<String, Option<bool>>>, target: &str, verdict: Option<bool>) {
    if let Some(health) = health {
        health.insert(target.to_owned(), verdict);
    }
}

fn round_robin<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "round_robin" => Ok(()),
        other => Err(serde::de::Error::custom(format!("{other} draws and cannot be replayed"))),
    }
}

const NOBODY: &str = "NONE";
