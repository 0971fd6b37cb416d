//! This file draws the attempts around the end of the fault, in tenths of a second.

use super::{Axes, Axis, Figure, fault_span};
use crate::Scenario;
use crate::plot::{Chart, Scale, short};
use crate::record::Run;

pub(super) fn figure(axes: &mut Axes, scenario: &Scenario, record: &Run) -> Figure {
    let (_, end) = fault_span(scenario);
    let (first, last) = ((end - BEFORE).max(0.0), end + AFTER);
    let capacity = scenario.capacity() / 10.0;
    let tenths: Vec<(f64, f64)> = record
        .tenths
        .iter()
        .enumerate()
        .map(|(index, attempts)| (index as f64 / 10.0, f64::from(*attempts)))
        .skip_while(|(at, _)| *at < first)
        .take_while(|(at, _)| *at < last)
        .collect();
    let top = tenths.iter().map(|(_, attempts)| *attempts).fold(capacity, f64::max);
    let top = axes.reach(Axis::Herd, top);
    let mut chart = Chart::new(
        Scale::linear(first - end, last - end),
        "time from the end of the fault, s",
        Scale::up_to(top),
        "attempts per 100 ms",
    );
    chart.band(first - end, 0.0, "fault");
    for (at, attempts) in &tenths {
        chart.block("bar c1", (at - end + 0.01, 0.0), (at - end + 0.09, *attempts));
    }
    chart.level(capacity, &format!("capacity {} per 100 ms", short(capacity)));
    chart.name("c1", "attempts");
    let title = "The herd: attempts when the server comes back";
    let highest = tenths.iter().filter(|(at, _)| *at >= end).map(|(_, attempts)| *attempts);
    let highest = highest.fold(0.0, f64::max) / capacity;
    let conclusion = if highest > 1.0 {
        format!(
            "In the worst tenth of a second after the fault, {} times as many attempts came as the \
             server can serve.",
            short(highest)
        )
    } else {
        "After the fault attempts never came faster than the server can serve them.".into()
    };
    Figure { id: "herd", title, conclusion, svg: chart.finish(title) }
}

const BEFORE: f64 = 2.0;
const AFTER: f64 = 20.0;
