//! This file draws calls, attempts and useful answers over time, against what the server can do.

use super::{
    Axes, Axis, Figure, POINTS, fault_span, fault_word, grouped, mean, seconds_after, shown_until,
};
use crate::plot::{Chart, Scale, percent, short};
use crate::record::{Run, Second};
use crate::{Scenario, Summary};

pub(super) fn figure(
    axes: &mut Axes,
    scenario: &Scenario,
    record: &Run,
    summary: &Summary,
) -> Figure {
    let end = axes.reach(Axis::Until, shown_until(scenario, summary));
    let groups = grouped(record, end, POINTS);
    let top = groups.iter().map(|(_, group)| mean(group, |second| second.attempts));
    let top = top.fold(scenario.capacity().min(scenario.offered() * 10.0), f64::max);
    let top = axes.reach(Axis::Rate, top);
    let mut chart = Chart::new(Scale::linear(0.0, end), "time, s", Scale::up_to(top), "per second");
    let (from, to) = fault_span(scenario);
    chart.band(from, to, fault_word(scenario));
    chart.level(scenario.capacity(), &format!("capacity {}/s", short(scenario.capacity())));
    let mut line = |class, name: &str, count: fn(&Second) -> u32| {
        let points = groups.iter().map(|(at, group)| (*at, mean(group, count)));
        chart.line(class, name, points);
    };
    line("c6", "calls offered", |second| second.calls);
    line("c2", "attempts sent", |second| second.attempts);
    line("c4", "wasted: executed too late", |second| second.wasted);
    line("c3", "good answers", |second| second.goodput);
    let title = "Load and useful answers over time";
    Figure {
        id: "rates",
        title,
        conclusion: conclusion(scenario, summary),
        svg: chart.finish(title),
    }
}

fn conclusion(scenario: &Scenario, summary: &Summary) -> String {
    let load = percent(scenario.offered() / scenario.capacity());
    let peak = short(summary.peak);
    let when = match summary.recovery {
        None => {
            let after = seconds_after(scenario);
            let why = if summary.wasted > 0.5 {
                ": the server still works for callers who have given up"
            } else {
                ""
            };
            return format!(
                "At {load} load calls are not good again {after} s after the fault{why}. Attempts \
                 peak at {peak} times the offered load."
            );
        }
        Some(0) => "as soon as".into(),
        Some(seconds) => format!("{seconds} s after"),
    };
    format!(
        "In this run calls are good again {when} the fault is over; attempts peak at {peak} times \
         the offered load."
    )
}
