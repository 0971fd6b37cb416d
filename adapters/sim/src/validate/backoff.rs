//! This file knows what the AWS experiment found (V1 to V3).

use evenkeel_core::{Backoff, Jitter};

use super::{Machines, Row};
use crate::chance::subseed;
use crate::{IMMEDIATELY, contest};

/// Write calls, and milliseconds, with 100 and with 190 clients.
struct Known {
    name: &'static str,
    jitter: Option<Jitter>,
    calls: [f64; 2],
    calls_within: f64,
    millis: [f64; 2],
}

const KNOWN: [Known; 5] = [
    known("none", None, [2_424.0, 8_018.0], 0.02, [2_030.0, 3_550.0]),
    known("exponential", Some(Jitter::None), [1_862.0, 5_183.0], 0.04, [63_600.0, 101_000.0]),
    known("full", Some(Jitter::Full), [796.0, 1_773.0], 0.02, [4_800.0, 7_500.0]),
    known("equal", Some(Jitter::Equal), [812.0, 1_761.0], 0.02, [6_500.0, 9_600.0]),
    known("decorrelated", Some(Jitter::Decorrelated), [1_006.0, 2_435.0], 0.04, [4_200.0, 6_600.0]),
];

const fn known(
    name: &'static str,
    jitter: Option<Jitter>,
    calls: [f64; 2],
    calls_within: f64,
    millis: [f64; 2],
) -> Known {
    Known { name, jitter, calls, calls_within, millis }
}

/// The mean calls and milliseconds of this many clients.
fn means(machines: &Machines, known: &Known, clients: u32) -> (f64, f64) {
    let backoff: Backoff = known.jitter.map_or(IMMEDIATELY, machines.waits);
    let (mut writes, mut micros) = (0, 0);
    for repetition in 0..REPETITIONS {
        let contest = contest(backoff, clients, subseed(clients.into(), repetition));
        writes += contest.writes;
        micros += contest.time;
    }
    (writes as f64 / REPETITIONS as f64, micros as f64 / REPETITIONS as f64 / 1_000.0)
}

pub(super) fn calls(machines: &Machines) -> Vec<Row> {
    rows(machines, |known, size, (calls, _)| {
        let what = format!("{}: calls of {} clients", known.name, SIZES[size]);
        Row::within(what, known.calls[size], known.calls_within, calls)
    })
}

pub(super) fn times(machines: &Machines) -> Vec<Row> {
    rows(machines, |known, size, (_, millis)| {
        let what = format!("{}: ms until {} clients have written", known.name, SIZES[size]);
        Row::within(what, known.millis[size], 0.1, millis)
    })
}

fn rows(machines: &Machines, row: impl Fn(&Known, usize, (f64, f64)) -> Row) -> Vec<Row> {
    let mut rows = Vec::new();
    for known in &KNOWN {
        for (size, clients) in SIZES.into_iter().enumerate() {
            rows.push(row(known, size, means(machines, known, clients)));
        }
    }
    rows
}

pub(super) fn orderings(machines: &Machines) -> Vec<Row> {
    let [none, expo, full, equal, decorrelated] =
        KNOWN.each_ref().map(|known| means(machines, known, 100));
    let by_calls =
        full.0 < equal.0 && equal.0 < decorrelated.0 && decorrelated.0 < expo.0 && expo.0 < none.0;
    // "Much less" and "about the same", as plain factors.
    let about = (decorrelated.1 / full.1 - 1.0).abs() < 0.25;
    let by_time = none.1 < decorrelated.1.min(full.1)
        && about
        && decorrelated.1.max(full.1) < equal.1
        && equal.1 * 4.0 < expo.1;
    let row = |what: &str, holds: bool| Row::exactly(what.into(), &true, &holds);
    vec![
        row("calls: full < equal < decorrelated < exponential < none", by_calls),
        row("calls: full is at most half of none", full.0 * 2.0 <= none.0),
        row("time: none < decorrelated ≈ full < equal ≪ exponential", by_time),
    ]
}

const SIZES: [u32; 2] = [100, 190];
const REPETITIONS: u64 = 30;
