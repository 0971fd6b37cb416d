//! This file knows the outage table: what becomes of the standard outage under each policy.

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Code, CodeSet, Jitter, Micros, RetryPolicy, ThrottlePolicy,
};

use crate::models::{Adaptive, Aws, Envoy, Finagle, Requests};
use crate::policy::doubling;
use crate::{Batch, Budget, FaultKind, Guard, IMMEDIATELY, Order, Policy, Scenario, Unfit, batch};

/// What the table says of one cell: recovered after so many seconds, or never.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expected {
    /// Never within the run.
    Never,
    /// After this many seconds.
    Seconds(u32),
}

/// One cell of the table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The policy, in the table's words.
    pub policy: &'static str,
    /// What the server does, in the table's words.
    pub outage: &'static str,
    /// What is known.
    pub expected: Expected,
    /// What is simulated.
    pub what: (Scenario, Policy),
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The middle of the times to recover.
    pub got: Option<u32>,
    /// All numbers.
    pub batch: Batch,
    /// Whether it is as expected: never, or within 20 % or 3 s.
    pub passes: bool,
}

impl Cell {
    /// Simulates it with the table's five seeds.
    ///
    /// # Errors
    ///
    /// None in fact: the table's scenarios are in order.
    pub fn run(&self) -> Result<Outcome, Unfit> {
        let (scenario, policy) = &self.what;
        let batch = batch(scenario, policy, &SEEDS)?;
        let got = batch.median();
        let passes = match (self.expected, got) {
            (Expected::Never, got) => got.is_none(),
            (Expected::Seconds(_), None) => false,
            (Expected::Seconds(expected), Some(got)) => {
                let off = f64::from(got.abs_diff(expected));
                off <= 3.0 || off <= 0.2 * f64::from(expected)
            }
        };
        Ok(Outcome { got, batch, passes })
    }
}

/// Every cell.
pub fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, policy, seconds) in policies() {
        for ((outage, scenario), expected) in outages().into_iter().zip(seconds) {
            if let Some(expected) = expected {
                let what = (scenario, policy);
                cells.push(Cell { policy: name, outage, expected, what });
            }
        }
    }
    cells.extend(servers());
    cells
}

type Row = [Option<Expected>; 4];

const fn row(stall: i32, refuse: i32, hole: i32, bounded: i32) -> Row {
    [cell(stall), cell(refuse), cell(hole), cell(bounded)]
}

/// The table in short: −1 is "never", −2 "not in the table".
const fn cell(seconds: i32) -> Option<Expected> {
    match seconds {
        -2 => None,
        -1 => Some(Expected::Never),
        seconds => Some(Expected::Seconds(seconds.unsigned_abs())),
    }
}

fn outages() -> [(&'static str, Scenario); 4] {
    let mut bounded = Scenario::outage(FaultKind::Stall);
    bounded.server.queue_limit = Some(2_000);
    [
        ("stall", Scenario::outage(FaultKind::Stall)),
        ("refuse", Scenario::outage(FaultKind::FailFast)),
        ("black hole", Scenario::outage(FaultKind::BlackHole)),
        ("stall, queue of 2000", bounded),
    ]
}

fn policies() -> Vec<(&'static str, Policy, Row)> {
    let kit = || retrying(kit_backoff());
    let with = |budget| kit().with_budget(budget);
    let requests = Requests { capacity: 10_000, start: 10_000, ratio: 100 };
    let finagle = |floor| Budget::Finagle(Finagle { percent: 20, floor, ttl: 10_000_000 });
    let envoy = |min| Budget::Envoy(Envoy { percent: 20, min, rounds_down: false });
    let breaker = |seconds| kit().with_guard(Guard::Consecutive(open_for(seconds)));
    let adaptive = |k, seconds: u64, ceiling| {
        kit().with_guard(Guard::Adaptive(Adaptive { k, window: seconds * 1_000_000, ceiling }))
    };
    let mut deadline = kit();
    deadline.call = set(deadline.call.with_timeout(Duration::from_secs(2)));
    vec![
        ("no retry", Policy::NO_RETRY, row(67, 0, 0, 4)),
        ("immediate", retrying(IMMEDIATELY), row(-1, 0, -1, -1)),
        ("kit backoff", kit(), row(-1, 0, -1, -1)),
        ("full jitter 0.1 s", retrying(waits(100, 10_000, Jitter::Full)), row(-1, 0, -1, -1)),
        ("full jitter 1 s/30 s", retrying(waits(1_000, 30_000, Jitter::Full)), row(-1, -1, -1, -1)),
        ("call deadline 2 s", deadline, row(-1, 0, 0, -1)),
        ("budget 10 %, request refill", with(Budget::Requests(requests)), row(101, 0, 0, 5)),
        (
            "budget 10 %, success refill",
            with(shipped(ThrottlePolicy::SUCCESS_REFILLED)),
            row(71, 0, -2, -2),
        ),
        (
            "gRPC throttle 10/0.1",
            with(shipped(set(ThrottlePolicy::grpc(10, 100)))),
            row(69, 0, 0, 4),
        ),
        ("Finagle 20 %, no floor", with(finagle(0)), row(152, 0, 0, 8)),
        ("Finagle 20 % + 10/s floor", with(finagle(10)), row(-1, 0, 0, -1)),
        ("Envoy-like 20 %, min 3", with(envoy(3)), row(-1, 0, -2, -2)),
        ("Envoy-like 20 %, min 0", with(envoy(0)), row(242, 0, -2, -2)),
        ("AWS 500/5/10", with(Budget::Aws(Aws::STANDARD)), row(84, 0, 0, 4)),
        ("AWS 2026 500/14", with(Budget::Aws(Aws::NEW_2026)), row(78, 0, 0, 4)),
        ("breaker 5/60 s/1", breaker(60), row(34, 31, 34, 34)),
        ("breaker 5/10 s/1 ±20 %", breaker(10).with_open_jitter(200), row(12, 11, 9, 12)),
        ("breaker 5/5 s/1 ±20 %", breaker(5).with_open_jitter(200), row(8, 6, 7, 8)),
        ("SRE K=2, 120 s", adaptive(2.0, 120, 1.0), row(-1, 103, 100, 106)),
        ("SRE K=1.1, 120 s", adaptive(1.1, 120, 1.0), row(-1, -1, -1, -1)),
        ("SRE K=2, 10 s, drop ≤ 0.9", adaptive(2.0, 10, 0.9), row(43, 30, 32, -2)),
        ("kit defaults", kit_defaults(), row(67, 0, 0, -2)),
    ]
}

/// Naive clients with four attempts, and another server each time.
fn servers() -> Vec<Cell> {
    let stall = || Scenario::outage(FaultKind::Stall);
    let server = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = stall();
        change(&mut scenario);
        scenario
    };
    let drop_below = |millis| Order::DropExpired { reserve: Micros::from_millis(millis) };
    let rows: [(&'static str, Scenario, i32); 6] = [
        ("queue of 500", server(&|s| s.server.queue_limit = Some(500)), 0),
        (
            "queue of 500, a rejection costs 5 ms",
            server(&|s| {
                s.server.queue_limit = Some(500);
                s.server.reject_cost = Micros::from_millis(5);
            }),
            -1,
        ),
        ("last in first out", server(&|s| s.server.order = Order::Lifo), 1),
        ("drop expired", server(&|s| s.server.order = drop_below(0)), -1),
        ("drop below 10 ms", server(&|s| s.server.order = drop_below(10)), 9),
        ("drop below 50 ms", server(&|s| s.server.order = drop_below(50)), 0),
    ];
    rows.into_iter()
        .filter_map(|(outage, scenario, seconds)| {
            let what = (scenario, retrying(kit_backoff()));
            Some(Cell { policy: "kit backoff", outage, expected: cell(seconds)?, what })
        })
        .collect()
}

fn retrying(backoff: Backoff) -> Policy {
    set(Policy::retrying(4, backoff))
}

fn waits(initial: u64, max: u64, jitter: Jitter) -> Backoff {
    set(doubling(Duration::from_millis(initial), Duration::from_millis(max), jitter))
}

fn kit_backoff() -> Backoff {
    Backoff::DEFAULT
}

/// Three attempts, and only where the request did not run into its time.
fn kit_defaults() -> Policy {
    let retry = RetryPolicy::DEFAULT.with_codes(CodeSet::of(&[Code::Unavailable]));
    let call = set(CallPolicy::DEFAULT.with_timeout(Duration::from_secs(1))).with_retry(retry);
    Policy { call, ..Policy::NO_RETRY }
}

fn open_for(seconds: u64) -> BreakerPolicy {
    set(BreakerPolicy::DEFAULT.with_open_for(Duration::from_secs(seconds)))
}

const fn shipped(policy: ThrottlePolicy) -> Budget {
    Budget::Shipped(policy)
}

fn set<T>(setting: Result<T, evenkeel_core::Invalid>) -> T {
    setting.expect("the table's settings are in order")
}

/// The table's.
const SEEDS: [u64; 5] = [11, 22, 33, 44, 55];
