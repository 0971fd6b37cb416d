//! This file knows which pictures are drawn of a simulation, each with its conclusion as a sentence.

mod axes;
mod call;
mod delay;
mod guards;
mod herd;
mod law;
mod map;
mod rates;

pub use axes::Axes;
use axes::Axis;
pub use law::hopeless_load;
pub(crate) use law::is_hopeless;

use crate::plot::STYLE;
use crate::record::{Run, Second};
use crate::{Map, Policy, Scenario, Summary};

/// A picture with words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Figure {
    /// A short name, for files and anchors.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What follows from it.
    pub conclusion: String,
    /// An SVG element. Its colours are classes of [`style`].
    pub svg: String,
}

impl Figure {
    /// The SVG as a file of its own, with its colours in it, and a ground: whoever shows it may be
    /// dark where the reader's machine is light.
    pub fn standalone(&self) -> String {
        let style = format!("><style>{STYLE}svg{{background:var(--ground)}}</style>");
        self.svg.replacen('>', &style, 1)
    }
}

/// The colours of the figures, light and dark, as CSS for a page that shows several.
pub const fn style() -> &'static str {
    STYLE
}

/// The pictures of one run: rates, queueing delay, what clients hold back, the herd, one call.
pub fn figures(scenario: &Scenario, policy: &Policy, record: &Run) -> Vec<Figure> {
    figures_on(&mut Axes::default(), scenario, policy, record)
}

/// The same pictures on these axes, to be laid beside those of another run.
pub fn figures_on(
    axes: &mut Axes,
    scenario: &Scenario,
    policy: &Policy,
    record: &Run,
) -> Vec<Figure> {
    let summary = Summary::of(record, scenario);
    vec![
        rates::figure(axes, scenario, record, &summary),
        delay::figure(axes, scenario, policy, record, &summary),
        guards::figure(axes, scenario, policy, record, &summary),
        herd::figure(axes, scenario, record),
        call::figure(axes, scenario, policy),
    ]
}

/// The recovery map: seconds to recover over load and length of the fault.
pub fn map_figure(scenario: &Scenario, policy: &Policy, map: &Map) -> Figure {
    map::figure(scenario, policy, map)
}

/// How many seconds a run goes on after its fault.
pub(crate) const fn seconds_after(scenario: &Scenario) -> u64 {
    scenario.end.minus(scenario.fault_end()).as_micros() / 1_000_000
}

/// The fault's span, in seconds, for the charts over time.
fn fault_span(scenario: &Scenario) -> (f64, f64) {
    let seconds = |span: evenkeel_core::Micros| span.as_micros() as f64 / 1e6;
    (seconds(scenario.fault.start), seconds(scenario.fault_end()))
}

/// Up to when a run is worth looking at: what comes long after it has recovered is all the same.
fn shown_until(scenario: &Scenario, summary: &Summary) -> f64 {
    let (_, over) = fault_span(scenario);
    let end = scenario.end.as_micros() as f64 / 1e6;
    match summary.recovery {
        Some(seconds) => end.min(over + (2.0 * f64::from(seconds)).max(60.0)),
        None => end,
    }
}

/// The seconds before `until` in at most `most` equal groups, each with the time it begins at.
fn grouped(record: &Run, until: f64, most: usize) -> Vec<(f64, &[Second])> {
    let seconds = &record.seconds[..record.seconds.len().min(until as usize + 1)];
    let size = seconds.len().div_ceil(most).max(1);
    let groups = seconds.chunks(size).enumerate();
    groups.map(|(index, group)| ((index * size) as f64, group)).collect()
}

/// The mean of a count over a group.
fn mean(group: &[Second], count: impl Fn(&Second) -> u32) -> f64 {
    let sum: u64 = group.iter().map(|second| u64::from(count(second))).sum();
    sum as f64 / group.len().max(1) as f64
}

/// What the fault is called above its band.
const fn fault_word(scenario: &Scenario) -> &'static str {
    use crate::FaultKind;
    match scenario.fault.kind {
        FaultKind::BlackHole => "requests vanish",
        FaultKind::Brownout { .. } => "brown-out",
        FaultKind::FailFast => "refuses",
        FaultKind::None => "",
        FaultKind::Partial { .. } => "fails some",
        FaultKind::Restart { .. } => "restarts",
        FaultKind::Stall => "stalls",
    }
}

const POINTS: usize = 390;
