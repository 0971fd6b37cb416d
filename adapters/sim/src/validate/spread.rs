//! This file knows how things spread: over leaves, slots and time (V10, V13, V24).

use core::time::Duration;

use evenkeel_core::Jitter;

use super::{Machines, Row};
use crate::chance::subseed;
use crate::{Chance, Storm, batch_makespan, doubling};

/// The share of requests that have at least one slow leaf.
pub(super) fn fan_out(_: &Machines) -> Vec<Row> {
    let mut rows = Vec::new();
    for (leaves, slow, known) in [(100, 0.01, 0.634), (2_000, 0.0001, 0.181)] {
        let mut chance = Chance::seeded(10);
        let requests = 100_000;
        let hit = (0..requests).filter(|_| (0..leaves).any(|_| chance.happens(slow))).count();
        let what = format!("{leaves} leaves, each slow with {slow}: share of slow requests");
        rows.push(Row::near(what, known, 0.003, hit as f64 / f64::from(requests)));
    }
    rows
}

pub(super) fn batch_backoff(_: &Machines) -> Vec<Row> {
    let mut rows = Vec::new();
    // With ten senders the mean of 20,000 runs is 1.46, so the band of the larger ones is too
    // narrow there; the law, n log n, is about growth.
    for (senders, runs, high) in [
        (10, 20_000, 1.5),
        (100, 4_000, 1.4),
        (1_000, 400, 1.4),
        (10_000, 80, 1.4),
        (100_000, 8, 1.4),
    ] {
        let sum: u64 = (0..runs).map(|run| batch_makespan(senders, subseed(13, run))).sum();
        let n = f64::from(senders);
        let log2 = crate::ln(n) / core::f64::consts::LN_2;
        let got = sum as f64 / runs as f64 / (n * log2);
        rows.push(Row::between(format!("{senders} senders: slots / (n log₂ n)"), 1.0, high, got));
    }
    rows
}

/// A hundred times the devices, the same storm.
pub(super) fn storm(_: &Machines) -> Vec<Row> {
    let waits = doubling(Duration::from_secs(1), Duration::from_secs(60), Jitter::Full);
    let waits = waits.unwrap_or_default();
    let [small, large] = [10_000, 1_000_000].map(|devices| {
        let report = Storm::new(devices, waits).run(3);
        let attempts = report.attempts as f64 / f64::from(devices);
        (report.seconds(99).unwrap_or(0.0), attempts)
    });
    vec![
        Row::within("10⁴ → 10⁶ devices: s until 99 % are back".into(), small.0, 0.03, large.0),
        Row::within("10⁴ → 10⁶ devices: dials per device".into(), small.1, 0.03, large.1),
    ]
}
