//! This file draws the recovery map, with the boundary between outages that end and those that do
//! not.

use evenkeel_core::Micros;

use super::{Figure, hopeless_load};
use crate::chance::ln;
use crate::plot::{Chart, Ink, Scale, percent, short};
use crate::{FaultKind, Map, Policy, Scenario};

pub(super) fn figure(scenario: &Scenario, policy: &Policy, map: &Map) -> Figure {
    let rows = map.lengths.len() as f64;
    let half = map.step() / 2.0;
    let (first, last) = (map.loads[0] - half, map.loads[map.loads.len() - 1] + half);
    let mut chart = Chart::new(
        Scale::marked(first * 100.0, last * 100.0, 10, 10),
        "load, % of capacity (in the cells: seconds to recover)",
        Scale::rows(rows),
        "length of the fault",
    )
    .with_height(112.0 + 30.0 * rows);
    for (index, cell) in map.cells.iter().enumerate() {
        let (row, column) = (index / map.loads.len(), index % map.loads.len());
        let (x, y) = (map.loads[column] * 100.0, row as f64);
        let (class, on, word) = shade(*cell);
        let (left, right) = (x - half * 100.0, x + half * 100.0);
        chart.block(class, (left, y), (right, y + 1.0));
        chart.note(on, x, y + 0.63, &word);
    }
    for (row, length) in map.lengths.iter().enumerate() {
        let word = format!("{} s", short(*length));
        chart.row(row as f64 + 0.63, &word);
    }
    boundary(&mut chart, map, half);
    let title = "Where the outage ends by itself, and where it does not";
    if let Some(load) = hopeless_load(scenario, policy)
        && load > first
        && load < last
    {
        chart.upright("line c1", load * 100.0);
        chart.name("c1", &format!("law: attempts × load = 1 at {}", percent(load)));
    }
    if let Some(points) = trigger(scenario, policy, map) {
        chart.line("c3", "law: the shortest fault that lasts", points);
    }
    chart.name("ink", "measured boundary; black: not within the run");
    let conclusion = conclusion(map);
    Figure { id: "map", title, conclusion, svg: chart.finish(title) }
}

/// A staircase between the cells that recover and those that do not.
fn boundary(chart: &mut Chart, map: &Map, half: f64) {
    let never = |row: usize, column: usize| map.cells[row * map.loads.len() + column].is_none();
    let mut path = Ink::new();
    for row in 0..map.lengths.len() {
        for column in 0..map.loads.len() {
            let x = map.loads[column] * 100.0;
            let (left, right) = (chart.px(x - half * 100.0), chart.px(x + half * 100.0));
            let (top, bottom) = (chart.py(row as f64), chart.py(row as f64 + 1.0));
            if column > 0 && never(row, column) != never(row, column - 1) {
                path.s("M").at(left, top).s("V").n(bottom);
            }
            if row > 0 && never(row, column) != never(row - 1, column) {
                path.s("M").at(left, top).s("H").n(right);
            }
        }
    }
    chart.ink().s("<path class=\"line ink bold\" d=\"").s(path.as_str()).s("\"/>");
}

/// The shortest stall that never ends, for loads at which it is between one timeout and two:
/// `(T + ρ (T + b)) / 2ρ`, with `b` the first wait.
fn trigger(scenario: &Scenario, policy: &Policy, map: &Map) -> Option<Vec<(f64, f64)>> {
    hopeless_load(scenario, policy).filter(|_| matches!(scenario.fault.kind, FaultKind::Stall))?;
    let seconds = |span: Micros| span.as_micros() as f64 / 1e6;
    let timeout = seconds(policy.call.attempt_timeout());
    let wait = seconds(policy.call.retry().backoff().initial());
    let points = (20..=95).filter_map(|percent| {
        let load = f64::from(percent) / 100.0;
        let length = (timeout + load * (timeout + wait)) / (2.0 * load);
        let valid = timeout < length && length < 2.0 * timeout;
        let row = valid.then(|| row_of(map, length)).flatten()?;
        Some((load * 100.0, row))
    });
    let points: Vec<_> = points.collect();
    (points.len() > 1).then_some(points)
}

/// Where a length is among the rows, which are their middles apart by factors.
fn row_of(map: &Map, length: f64) -> Option<f64> {
    let pairs = map.lengths.iter().zip(map.lengths.iter().skip(1)).enumerate();
    let mut between = pairs.filter(|(_, (low, high))| **low <= length && length <= **high);
    let (row, (low, high)) = between.next()?;
    Some(row as f64 + 0.5 + ln(length / low) / ln(high / low))
}

fn conclusion(map: &Map) -> String {
    match map.safe_load() {
        None => "Every outage on the map ends by itself.".into(),
        Some(load) if load <= 0.0 => {
            "At any load on the map there is an outage that does not end within its run.".into()
        }
        Some(load) => format!(
            "Up to {} load every outage on the map ends by itself; above it some do not, within their \
             run.",
            percent(load)
        ),
    }
}

/// The shade of a cell, that of its words, and the words.
fn shade(seconds: Option<u32>) -> (&'static str, &'static str, String) {
    let Some(seconds) = seconds else { return ("never", LIGHT, "never".into()) };
    let (shade, on) = match seconds {
        0..=1 => ("cell m0", DARK),
        2..=5 => ("cell m1", DARK),
        6..=15 => ("cell m2", DARK),
        16..=30 => ("cell m3", DARK),
        31..=60 => ("cell m4", DARK),
        61..=120 => ("cell m5", LIGHT),
        _ => ("cell m6", LIGHT),
    };
    (shade, on, short(f64::from(seconds)))
}

const DARK: &str = "on dark middle";
const LIGHT: &str = "on light middle";
