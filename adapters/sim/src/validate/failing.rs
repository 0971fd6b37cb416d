//! This file knows what becomes of clients of a server that fails at random (V4, V5, V7, V15).

use evenkeel_core::{
    Action, BreakerPolicy, Call, CallPolicy, Deadline, Instant, Micros, Next, Outcome, RetryPolicy,
    Single,
};

use super::{Machines, Row};
use crate::models::{Requests, RequestsMemory};
use crate::record::{Run, Second};
use crate::{Arrivals, Budget, Fault, FaultKind, Guard, IMMEDIATELY, Policy, Scenario, run};

/// A server that answers at once and fails this share, for the whole run.
fn failing(share: f64, clients: u32, per_second: f64, seconds: u64) -> Scenario {
    let mut scenario = Scenario::outage(FaultKind::Partial { share });
    let end = Micros::from_millis(seconds * 1_000);
    scenario.fleet.clients = clients;
    scenario.fleet.arrivals = Arrivals::Open { per_second };
    scenario.server.service = Micros::ZERO;
    scenario.server.workers = 100;
    scenario.fault = Fault { length: end, start: Micros::ZERO, ..scenario.fault };
    scenario.end = end;
    scenario
}

fn totals(scenario: &Scenario, policy: &Policy) -> (f64, f64) {
    let Ok(record) = run(scenario, policy, 99) else { return (0.0, 0.0) };
    let sum = |count: fn(&Second) -> u32| record.sum(0, usize::MAX, count) as f64;
    let calls = sum(|second| second.calls);
    (sum(|second| second.good) / calls, sum(|second| second.attempts) / calls)
}

pub(super) fn retries(_: &Machines) -> Vec<Row> {
    let policy = Policy::retrying(4, IMMEDIATELY).unwrap_or(Policy::NO_RETRY);
    let mut rows = Vec::new();
    for p in [0.01, 0.05, 0.1, 0.2, 0.5] {
        let (success, load) = totals(&failing(p, 100, 1_000.0, 100), &policy);
        let known = 1.0 - p * p * p * p;
        rows.push(Row::within(format!("p = {p}: success 1 − p⁴"), known, 0.005, success));
        let known = 1.0 + p + p * p + p * p * p;
        rows.push(Row::within(format!("p = {p}: load 1 + p + p² + p³"), known, 0.005, load));
    }
    rows
}

pub(super) fn adaptive(_: &Machines) -> Vec<Row> {
    let budget = Requests { capacity: 5_000, start: 5_000, ratio: 100 };
    let policy = Policy::retrying(u16::MAX, IMMEDIATELY).unwrap_or(Policy::NO_RETRY);
    let policy = policy.with_budget(Budget::Requests(budget));
    let mut rows = Vec::new();
    for p in [0.3, 0.5, 0.7] {
        let (success, load) = totals(&failing(p, 100, 1_000.0, 100), &policy);
        rows.push(Row::between(format!("p = {p}: load"), 1.10, 1.11, load));
        let known = (1.0 - p) * 1.1;
        rows.push(Row::within(format!("p = {p}: success (1 − p) × 1.1"), known, 0.01, success));
    }
    rows
}

/// Every layer above a dead backend makes its own attempts at the layer below.
pub(super) fn layers(_: &Machines) -> Vec<Row> {
    let mut rows = Vec::new();
    for (attempts, deep, known) in [(4, 3, 64), (3, 5, 243)] {
        let retry = RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap_or_default();
        let policy = CallPolicy::DEFAULT.unbounded().with_retry(retry.with_backoff(IMMEDIATELY));
        let what = format!("{attempts} attempts, {deep} layers: attempts at the backend");
        rows.push(Row::exactly(what, &known, &through(&policy, deep)));
    }
    for (deep, known) in [(1, 1_100), (2, 1_210), (3, 1_331)] {
        let what = format!("10 % budget, {deep} layers: attempts for 1000 calls");
        rows.push(Row::exactly(what, &known, &budgeted(deep)));
    }
    rows
}

/// What one call through this many layers comes to at a backend that fails everything.
fn through(policy: &CallPolicy, layers: u32) -> u32 {
    if layers == 0 {
        return 1;
    }
    let mut upstream = Single::new(policy);
    let mut call = Call::new(Deadline::NONE, layers);
    let (mut now, mut sum) = (Instant::ZERO, 0);
    loop {
        match call.poll(now, &mut upstream) {
            Action::Attempt(attempt) => {
                sum += through(policy, layers - 1);
                let failed = Outcome::unavailable();
                if let Next::Retry { at, .. } = call.complete(now, &mut upstream, attempt, failed) {
                    now = at;
                }
            }
            Action::WaitUntil(at) => now = at,
            Action::Finish(_) => return sum,
        }
    }
}

/// What a thousand calls come to when every layer may retry a tenth of its requests.
fn budgeted(layers: u32) -> u32 {
    let rule = Requests { capacity: 10_000, start: 0, ratio: 100 };
    (0..layers).fold(1_000, |requests, _| {
        let mut budget = RequestsMemory::new(&rule);
        let retried = (0..requests).filter(|_| {
            budget.started(&rule);
            budget.allow()
        });
        requests + retried.count() as u32
    })
}

/// The share of its life that a breaker of five in a row and 60 s spends open.
pub(super) fn breakers(_: &Machines) -> Vec<Row> {
    let guard = Guard::Consecutive(BreakerPolicy::DEFAULT);
    let policy = Policy::NO_RETRY.with_guard(guard);
    let mut rows = Vec::new();
    for per_second in [1.0, 7.0, 100.0] {
        for p in [0.1, 0.2, 0.3, 0.5] {
            let p5: f64 = p * p * p * p * p;
            let closed = (1.0 - p5) / (p5 * (1.0 - p)) / per_second;
            let open = 60.0 / (1.0 - p);
            let known = open / (open + closed);
            let enough = (1_000.0 * (open + closed)).min(400_000.0).min(8e6 / per_second);
            let got =
                run(&failing(p, 1, per_second, enough as u64), &policy, 7).map_or(0.0, open_share);
            rows.push(Row::near(format!("{per_second} calls/s, p = {p}"), known, 0.02, got));
        }
    }
    rows
}

fn open_share(record: Run) -> f64 {
    record.sum(0, usize::MAX, |second| second.open) as f64 / record.seconds.len() as f64
}
