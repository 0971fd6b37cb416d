//! This file knows when a server does not come back by itself (V16, V17, V18, V20).

use evenkeel_core::{Backoff, CallPolicy, Micros};

use super::{Machines, Row};
use crate::models::Requests;
use crate::{Arrivals, Batch, Budget, Fault, FaultKind, IMMEDIATELY, Policy, Scenario, batch};

fn recovery(scenario: &Scenario, policy: &Policy, seeds: &[u64]) -> Batch {
    batch(scenario, policy, seeds).unwrap_or(Batch { runs: Vec::new() })
}

fn offered(mut scenario: Scenario, per_second: f64) -> Scenario {
    scenario.fleet.arrivals = Arrivals::Open { per_second };
    scenario
}

fn kit(attempts: u16) -> Policy {
    Policy::retrying(attempts, Backoff::DEFAULT).unwrap_or(Policy::NO_RETRY)
}

/// A database good for 300 queries a second, and an application that asks once more.
pub(super) fn bronson(_: &Machines) -> Vec<Row> {
    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.server.workers = 3;
    scenario.fault.length = Micros::from_millis(10_000);
    let row = |per_second: f64, policy: Policy, recovers: bool| {
        let batch = recovery(&offered(scenario.clone(), per_second), &policy, &SEEDS);
        let what = format!("{per_second}/s, {} attempts: recovers", policy.attempts());
        Row::exactly(what, &recovers, &batch.median().is_some())
    };
    vec![
        row(280.0, kit(2), false),
        row(150.0, kit(2), false),
        row(140.0, kit(2), true),
        row(280.0, Policy::NO_RETRY, true),
    ]
}

/// Seconds until the backlog is shorter than the timeout, with this much load per capacity.
fn law(load: f64) -> f64 {
    (load * 30.0 - 1.0) / (1.0 - load)
}

pub(super) fn without_retries(_: &Machines) -> Vec<Row> {
    let rows = [0.3, 0.5, 0.7, 0.8].map(|load| law_row(load, 0.0, &Policy::NO_RETRY, 0.05));
    rows.to_vec()
}

pub(super) fn with_budget(_: &Machines) -> Vec<Row> {
    let mut rows = Vec::new();
    for share in [0.1, 0.2] {
        let ratio = (share * 1_000.0) as u32;
        let budget = Requests { capacity: 10_000, start: 0, ratio };
        let policy = kit(4).with_budget(Budget::Requests(budget));
        for load in [0.3, 0.5, 0.6, 0.7] {
            rows.push(law_row(load, share, &policy, 0.08));
        }
        let load = 1.05 / (1.0 + share);
        let batch = recovery(&at_load(load), &policy, &SEEDS);
        let what = format!("budget {share}, load × (1 + budget) = 1.05: recovers");
        rows.push(Row::exactly(what, &false, &batch.median().is_some()));
    }
    rows
}

fn at_load(load: f64) -> Scenario {
    offered(Scenario::outage(FaultKind::Stall), load * 1_000.0)
}

fn law_row(load: f64, share: f64, policy: &Policy, within: f64) -> Row {
    let known = law(load * (1.0 + share));
    let got = recovery(&at_load(load), policy, &SEEDS).median().map_or(f64::NAN, f64::from);
    let off = (got - known).abs();
    Row {
        what: format!("load {load}, budget {share}: s to recover"),
        expected: format!("{known:.1}"),
        tolerance: format!("±{} % or 2 s", within * 100.0),
        got: format!("{got:.0}"),
        passes: off <= 2.0 || off <= within * known,
    }
}

/// A replica set with a timeout of 3 s whose clients resend four times at once; a cut of its
/// capacity by a depth that is chosen once, as the authors' instructions say.
pub(super) fn osdi(_: &Machines) -> Vec<Row> {
    let row = |what: &str, seconds: u64, depth: f64, load: f64, collapses: bool| {
        let batch = recovery(&cut(seconds, depth, load), &resending(), &TWENTY);
        let never = batch.never();
        let passes = if collapses { never >= 0.7 } else { never <= 0.2 };
        let expected = if collapses { "≥ 0.7" } else { "≤ 0.2" };
        let (what, got) = (format!("{what}: share that collapses"), format!("{never:.2}"));
        Row { what, expected: expected.into(), tolerance: "of 20 seeds".into(), got, passes }
    };
    vec![
        row("10 s", 10, DEPTH, 500.0, true),
        row("9 s", 9, DEPTH, 500.0, false),
        row("10 s, 10 % shallower", 10, DEPTH * 1.1, 500.0, false),
        row("10 s, 25 % less load", 10, DEPTH, 375.0, false),
    ]
}

fn cut(seconds: u64, capacity: f64, per_second: f64) -> Scenario {
    let mut scenario = offered(Scenario::outage(FaultKind::Brownout { capacity }), per_second);
    let length = Micros::from_millis(seconds * 1_000);
    scenario.fault = Fault { length, ..scenario.fault };
    scenario.end = Micros::from_millis(200_000);
    scenario
}

fn resending() -> Policy {
    let policy = Policy::retrying(5, IMMEDIATELY).unwrap_or(Policy::NO_RETRY);
    let timeout = core::time::Duration::from_secs(3);
    let call: CallPolicy = policy.call.with_attempt_timeout(timeout).unwrap_or(policy.call);
    Policy { call, ..policy }
}

/// The capacity left, chosen once for a load of one half.
const DEPTH: f64 = 0.299;
const SEEDS: [u64; 5] = [11, 22, 33, 44, 55];
const TWENTY: [u64; 20] = {
    let mut seeds = [0; 20];
    let mut n = 0;
    while n < 20 {
        seeds[n] = 1_000 + n as u64;
        n += 1;
    }
    seeds
};
