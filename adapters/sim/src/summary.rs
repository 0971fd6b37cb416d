//! This file knows what a person wants to know of a run, and of several.

use crate::record::{Run, Second};
use crate::scenario::Scenario;

/// One run in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Seconds from the end of the fault to the first of ten consecutive seconds of which at least
    /// 99 % of the calls ended well, if there were any; `None` if that did not come before the run's
    /// end.
    pub recovery: Option<u32>,
    /// Attempts per call while the fault lasted.
    pub amplification: f64,
    /// The most attempts in any second, over the calls offered per second.
    pub peak: f64,
    /// The share of the calls that started during the fault and ended well.
    pub success_during: f64,
    /// The share of the calls of the two minutes after the fault, or of what the run has of them, that
    /// ended well.
    pub success_after: f64,
    /// The share of the requests executed from the fault on that nobody waited for any more.
    pub wasted: f64,
    /// Seconds for which the mean client's breaker was still not closed after the fault.
    pub breaker_seconds: f64,
    /// Whether the run was cut short, so that all of this is about its beginning.
    pub cut_short: bool,
}

impl Summary {
    /// Of one run of `scenario`.
    pub fn of(run: &Run, scenario: &Scenario) -> Self {
        let start = second(scenario.fault.start.as_micros());
        let end = second(scenario.fault_end().as_micros());
        let all = run.seconds.len();
        let attempts = run.sum(start, end, |second| second.attempts) as f64;
        let calls = run.sum(start, end, |second| second.calls) as f64;
        let most = run.seconds.iter().map(|second| second.attempts).max().unwrap_or(0);
        let clients = f64::from(scenario.fleet.clients) * f64::from(scenario.fleet.layers);
        let protecting = run.sum(end, all, |second| second.open + second.half_open) as f64;
        Self {
            recovery: recovery(&run.seconds, end),
            amplification: share(attempts, calls),
            peak: share(f64::from(most), scenario.offered()),
            success_during: share(run.sum(start, end, |second| second.good) as f64, calls),
            success_after: share(
                run.sum(end, end + AFTER, |second| second.good) as f64,
                run.sum(end, end + AFTER, |second| second.calls) as f64,
            ),
            wasted: share(
                run.sum(start, all, |second| second.wasted) as f64,
                run.sum(start, all, |second| second.executed) as f64,
            ),
            breaker_seconds: share(protecting, clients),
            cut_short: run.cut_short,
        }
    }
}

/// Several runs of one scenario with different seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Each run.
    pub runs: Vec<Summary>,
}

impl Batch {
    /// The middle one of the times to recover; `None` if half of the runs or more never did.
    pub fn median(&self) -> Option<u32> {
        self.quantile(50)
    }

    /// The time within which 95 % of the runs recovered; `None` if more than 5 % never did.
    pub fn p95(&self) -> Option<u32> {
        self.quantile(95)
    }

    /// The share of the runs that never recovered.
    pub fn never(&self) -> f64 {
        let never = self.runs.iter().filter(|run| run.recovery.is_none()).count();
        share(never as f64, self.runs.len() as f64)
    }

    /// How many runs were cut short at [`Scenario::max_events`].
    pub fn cut_short(&self) -> usize {
        self.runs.iter().filter(|run| run.cut_short).count()
    }

    /// The mean of a number over the runs.
    pub fn mean(&self, number: impl Fn(&Summary) -> f64) -> f64 {
        share(self.runs.iter().map(number).sum(), self.runs.len() as f64)
    }

    /// The largest of a number over the runs.
    pub fn most(&self, number: impl Fn(&Summary) -> f64) -> f64 {
        self.runs.iter().map(number).fold(0.0, f64::max)
    }

    fn quantile(&self, percent: usize) -> Option<u32> {
        let times = self.runs.iter().map(|run| run.recovery.map_or(u64::MAX, u64::from));
        u32::try_from(quantile(&times.collect::<Vec<_>>(), percent)).ok()
    }
}

/// The first second after `end` from which ten in a row are good. Seconds without a call say nothing,
/// so at least one has had some.
pub(crate) fn recovery(seconds: &[Second], end: usize) -> Option<u32> {
    let after = seconds.get(end..)?;
    let is_good = |second: &Second| u64::from(second.good) * 100 >= u64::from(second.calls) * 99;
    let (mut first, mut good) = (0, 0);
    for (index, second) in after.iter().enumerate() {
        if !is_good(second) {
            (first, good) = (index + 1, 0);
            continue;
        }
        good |= second.good;
        if index + 1 - first >= IN_A_ROW && good > 0 {
            return u32::try_from(first).ok();
        }
    }
    None
}

/// The smallest value that at least so many per cent do not exceed; `u64::MAX` of nothing.
///
/// By counting: there are a few hundred at most, and sorting is a good part of the engine's size.
pub(crate) fn quantile(values: &[u64], percent: usize) -> u64 {
    let enough = (values.len() * percent).div_ceil(100).max(1);
    let reaches =
        |candidate: &&u64| values.iter().filter(|value| value <= candidate).count() >= enough;
    values.iter().filter(reaches).min().copied().unwrap_or(u64::MAX)
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn second(micros: u64) -> usize {
    micros.div_ceil(1_000_000) as usize
}

const IN_A_ROW: usize = 10;
const AFTER: usize = 120;
