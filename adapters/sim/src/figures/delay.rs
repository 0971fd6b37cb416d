//! This file draws how long requests wait at the server, against how long their callers do.

use super::{Axes, Axis, Figure, POINTS, fault_span, fault_word, grouped, shown_until};
use crate::plot::{Chart, Scale, clock};
use crate::record::{Run, Second};
use crate::{Policy, Scenario, Summary};

pub(super) fn figure(
    axes: &mut Axes,
    scenario: &Scenario,
    policy: &Policy,
    record: &Run,
    summary: &Summary,
) -> Figure {
    let limit = policy.call.attempt_timeout().shorter(policy.call.timeout());
    let limit = limit.as_micros() as f64 / 1e6;
    let end = axes.reach(Axis::Until, shown_until(scenario, summary));
    let groups = grouped(record, end, POINTS);
    let delays: Vec<_> = groups.iter().map(|(at, group)| (*at, longest(group))).collect();
    let top = delays.iter().map(|(_, delay)| *delay).fold(10.0, f64::max);
    let top = axes.reach(Axis::Delay, top);
    let mut chart = Chart::new(
        Scale::linear(0.0, end),
        "time, s",
        Scale::logarithmic(LEAST, top * 1.5),
        "longest wait in the queue, s",
    );
    let (from, to) = fault_span(scenario);
    chart.band(from, to, fault_word(scenario));
    if limit < 1e6 {
        chart.level(limit, &format!("callers give up after {}", clock(limit)));
    }
    chart.line("c1", "longest wait at the server", delays.iter().copied());
    let title = "Waiting at the server, and how long callers wait for it";
    let late = record.seconds.iter().filter(|second| second.delay as f64 / 1e6 >= limit).count();
    let after = record.seconds.iter().skip(to as usize);
    let dead = after.filter(|second| second.delay as f64 / 1e6 >= limit).count();
    let conclusion = match (late, dead) {
        (0, _) => "No request waited longer than its caller: nothing was executed in vain.".into(),
        (_, 0) => "Only while the fault lasted did requests wait longer than their callers.".into(),
        (_, dead) => format!(
            "For {dead} s after the fault requests waited longer than their callers did: what was \
             executed then, nobody was waiting for."
        ),
    };
    Figure { id: "delay", title, conclusion, svg: chart.finish(title) }
}

fn longest(group: &[Second]) -> f64 {
    let longest = group.iter().map(|second| second.delay).max().unwrap_or(0);
    (longest as f64 / 1e6).max(LEAST)
}

const LEAST: f64 = 0.001;
