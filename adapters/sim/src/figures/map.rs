//! This file draws the recovery map, with the boundary between outages that end and those that do
//! not.

use super::Figure;
use crate::plot::{Chart, Scale, percent, round, short};
use crate::{Budget, Guard, Map, Order, Policy, Scenario};

pub(super) fn figure(scenario: &Scenario, policy: &Policy, map: &Map) -> Figure {
    let rows = map.lengths.len() as f64;
    let half = map.step() / 2.0;
    let (first, last) = (map.loads[0] - half, map.loads[map.loads.len() - 1] + half);
    let mut chart = Chart::new(
        Scale::linear(first * 100.0, last * 100.0),
        "load, % of capacity",
        Scale::rows(rows),
        "length of the fault",
    )
    .with_height(112.0 + 30.0 * rows);
    for (index, cell) in map.cells.iter().enumerate() {
        let (row, column) = (index / map.loads.len(), index % map.loads.len());
        let (x, y) = (map.loads[column] * 100.0, row as f64);
        let (shade, word) = shade(*cell);
        let class = if cell.is_some() { format!("cell {shade}") } else { "never".into() };
        let (left, right) = (x - half * 100.0, x + half * 100.0);
        chart.block(&class, (left, y), (right, y + 1.0));
        chart.note(&format!("middle on{}", &shade[1..]), x, y + 0.63, &word);
    }
    for (row, length) in map.lengths.iter().enumerate() {
        let word = format!("{} s", short(*length));
        chart.note("end", 0.0, row as f64 + 0.63, &word);
    }
    boundary(&mut chart, map, half);
    let title = "Where the outage ends by itself, and where it does not";
    if let Some(load) = law(scenario, policy)
        && load > first
        && load < last
    {
        let x = round(chart.px(load * 100.0));
        let (top, bottom) = (round(chart.py(0.0)), round(chart.py(rows)));
        chart.draw(&format!("<path class=\"line c1\" d=\"M{x} {top}V{bottom}\"/>"));
        chart.name("c1", &format!("law: attempts × load = 1 at {}", percent(load)));
    }
    chart.name("ink", "measured boundary; black: not within the run");
    let conclusion = conclusion(map);
    Figure { id: "map", title, conclusion, svg: chart.finish(title) }
}

/// A staircase between the cells that recover and those that do not.
fn boundary(chart: &mut Chart, map: &Map, half: f64) {
    let never = |row: usize, column: usize| map.cells[row * map.loads.len() + column].is_none();
    let mut path = String::new();
    for row in 0..map.lengths.len() {
        for column in 0..map.loads.len() {
            let x = map.loads[column] * 100.0;
            let (left, right) = (chart.px(x - half * 100.0), chart.px(x + half * 100.0));
            let (top, bottom) = (chart.py(row as f64), chart.py(row as f64 + 1.0));
            if column > 0 && never(row, column) != never(row, column - 1) {
                path += &format!("M{} {}V{}", round(left), round(top), round(bottom));
            }
            if row > 0 && never(row, column) != never(row - 1, column) {
                path += &format!("M{} {}H{}", round(left), round(top), round(right));
            }
        }
    }
    chart.draw(&format!("<path class=\"line ink bold\" d=\"{path}\"/>"));
}

/// The load from which on a server that executes dead work cannot recover: with unlimited retries,
/// attempts × load = 1.
fn law(scenario: &Scenario, policy: &Policy) -> Option<f64> {
    let executes_dead_work = matches!(scenario.server.order, Order::Fifo);
    let unbounded = matches!(policy.budget, Budget::None) && matches!(policy.guard, Guard::None);
    (executes_dead_work && unbounded).then(|| 1.0 / f64::from(policy.attempts()))
}

fn conclusion(map: &Map) -> String {
    match map.safe_load() {
        None => "Every outage on the map ends by itself.".into(),
        Some(load) if load <= 0.0 => {
            "At any load on the map there is an outage that does not end by itself.".into()
        }
        Some(load) => format!(
            "Up to {} load every outage on the map ends by itself; above it some do not.",
            percent(load)
        ),
    }
}

/// The shade of a cell, and what stands in it.
fn shade(seconds: Option<u32>) -> (&'static str, String) {
    let Some(seconds) = seconds else { return ("mx", "never".into()) };
    let shade = match seconds {
        0..=1 => "m0",
        2..=5 => "m1",
        6..=15 => "m2",
        16..=30 => "m3",
        31..=60 => "m4",
        61..=120 => "m5",
        _ => "m6",
    };
    (shade, seconds.to_string())
}
