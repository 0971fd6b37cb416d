//! This file knows what a run must come to on every platform, bit for bit (V25).

use core::time::Duration;

use evenkeel_core::{Backoff, BreakerPolicy, Jitter, Micros, ThrottlePolicy};

use super::{Machines, Row};
use crate::{
    Budget, FaultKind, Guard, Policy, Scenario, Storm, contest, doubling, original_waits, run,
};

/// A run, how many events it has, and the digest of its record.
#[derive(Clone, Copy, Debug)]
pub struct Golden {
    /// What is run.
    pub name: &'static str,
    /// How many events it has.
    pub events: u64,
    /// What its record comes to.
    pub digest: u64,
}

/// One sample of each kind of world, small enough for a debug build.
pub const GOLDEN: [Golden; 6] = [
    Golden { name: "no retry", events: 78_752, digest: 0xa1da_0869_d885_700e },
    Golden { name: "four attempts", events: 215_972, digest: 0x5985_7021_736e_944f },
    Golden { name: "shipped throttle", events: 82_662, digest: 0xe813_0207_ebbc_9886 },
    Golden { name: "breaker", events: 52_695, digest: 0x3d21_9872_101e_fd92 },
    Golden { name: "storm", events: 12_699, digest: 0xe85d_c76d_dd64_d3c1 },
    Golden { name: "contest", events: 357, digest: 0x0000_0000_0026_49e8 },
];

/// Events and digest of the golden run with this name.
pub fn golden_run(name: &str) -> Option<(u64, u64)> {
    let kit = Policy::retrying(4, Backoff::DEFAULT).ok()?;
    let policy = match name {
        "no retry" => Policy::NO_RETRY,
        "four attempts" => kit,
        "shipped throttle" => kit.with_budget(Budget::Shipped(ThrottlePolicy::SUCCESS_REFILLED)),
        "breaker" => {
            let open_for = BreakerPolicy::DEFAULT.with_open_for(Duration::from_secs(5)).ok()?;
            kit.with_guard(Guard::Consecutive(open_for)).with_open_jitter(200)
        }
        "storm" => {
            let waits = doubling(Duration::from_secs(1), Duration::from_secs(60), Jitter::Full);
            let report = Storm::new(2_000, waits.ok()?).run(3);
            return Some((report.attempts, report.digest()));
        }
        "contest" => {
            let contest = contest(original_waits(Jitter::Decorrelated), 50, 1);
            return Some((contest.writes, contest.time));
        }
        _ => return None,
    };
    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.fault.start = Micros::from_millis(5_000);
    scenario.fault.length = Micros::from_millis(10_000);
    scenario.end = Micros::from_millis(40_000);
    let record = run(&scenario, &policy, 11).ok()?;
    Some((record.events, record.digest()))
}

pub(super) fn counts(_: &Machines) -> Vec<Row> {
    let row = |golden: &Golden| {
        let got = golden_run(golden.name).unwrap_or_default();
        let show = |(events, digest)| format!("{events} {digest:016x}");
        let (known, got) = (show((golden.events, golden.digest)), show(got));
        Row::exactly(format!("{}: events and digest", golden.name), &known, &got)
    };
    GOLDEN.iter().map(row).collect()
}
