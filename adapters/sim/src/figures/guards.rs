//! This file draws what the clients hold back themselves: open breakers, and retries denied.

use super::{Axes, Axis, Figure, POINTS, fault_span, fault_word, grouped, mean, shown_until};
use crate::plot::{Chart, Scale, percent, short};
use crate::record::{Run, Second};
use crate::{Budget, Guard, Policy, Scenario, Summary};

pub(super) fn figure(
    axes: &mut Axes,
    scenario: &Scenario,
    policy: &Policy,
    record: &Run,
    summary: &Summary,
) -> Figure {
    let end = axes.reach(Axis::Until, shown_until(scenario, summary));
    let mut chart =
        Chart::new(Scale::linear(0.0, end), "time, s", Scale::linear(0.0, 100.0), "share, %");
    let (from, to) = fault_span(scenario);
    chart.band(from, to, fault_word(scenario));
    let groups = grouped(record, end, POINTS);
    let clients = f64::from(scenario.fleet.clients) * f64::from(scenario.fleet.layers);
    let has_breaker = !matches!(policy.guard, Guard::None | Guard::Adaptive(_));
    if has_breaker {
        let share =
            |group: &[Second], count: fn(&Second) -> u32| 100.0 * mean(group, count) / clients;
        let open: Vec<_> = groups
            .iter()
            .map(|(at, group)| (*at, 0.0, share(group, |second| second.open)))
            .collect();
        let half: Vec<_> = groups
            .iter()
            .zip(&open)
            .map(|((at, group), open)| {
                (*at, open.2, open.2 + share(group, |second| second.half_open))
            })
            .collect();
        chart.area("c2", "breakers open", &open);
        chart.area("c5", "half-open", &half);
    }
    let of_calls = |count: fn(&Second) -> u32| {
        groups.iter().map(move |(at, group)| {
            let calls = mean(group, |second| second.goodput + second.failed);
            let part = mean(group, count);
            (*at, if calls > 0.0 { 100.0 * part / calls } else { 0.0 })
        })
    };
    chart.line("c1", "calls stopped by their own client", of_calls(|second| second.rejected));
    chart.line("c4", "retries the throttle denied, per call", of_calls(|second| second.denied));
    let held = |second: &Second| second.rejected + second.denied + second.open;
    if record.sum(0, usize::MAX, held) == 0 {
        chart.nothing("nothing: every retry and every call went out");
    }
    let title = "What the clients hold back";
    let conclusion = conclusion(policy, record, summary, has_breaker);
    Figure { id: "guards", title, conclusion, svg: chart.finish(title) }
}

fn conclusion(policy: &Policy, record: &Run, summary: &Summary, has_breaker: bool) -> String {
    let denied = record.sum(0, usize::MAX, |second| second.denied);
    let throttle = match policy.budget {
        Budget::None => "No throttle bounds the retries of all calls together.".into(),
        _ if denied == 0 => "The throttle denied no retry.".into(),
        _ => format!("The throttle denied {} retries.", short(denied as f64)),
    };
    if matches!(policy.guard, Guard::Adaptive(_)) {
        let rejected = record.sum(0, usize::MAX, |second| second.rejected);
        let calls = record.sum(0, usize::MAX, |second| second.calls).max(1);
        let share = percent(rejected as f64 / calls as f64);
        return format!("Adaptive throttling dropped {share} of the calls. {throttle}");
    }
    if !has_breaker {
        return format!("There is no breaker. {throttle}");
    }
    format!(
        "The mean client's breaker kept it away for {} s after the server was back; breakers \
         opened {} times in all. {throttle}",
        short(summary.breaker_seconds),
        short(record.opened as f64)
    )
}
