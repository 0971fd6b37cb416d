//! This file knows how the kit checks: all due targets in one pass, then a pause, then those that
//! are due by then.

use std::collections::BTreeMap;

use super::super::{Rule, Rules, Seconds};
use super::{Scenario, Trace};

/// The kit under a scenario, with some of our rules.
pub(super) fn run(scenario: &Scenario, rules: Rules) -> Trace {
    let mut kit = Kit { scenario, rules, targets: BTreeMap::new(), trace: Trace::default() };
    kit.trace.running = true;
    let all: Vec<&str> = scenario.targets.keys().map(String::as_str).collect();
    if rules.contains(Rule::IndependentTargets) {
        all.iter().for_each(|target| kit.check_together(&[target]));
    } else {
        kit.check_together(&all);
    }
    kit.finish()
}

struct Kit<'a> {
    scenario: &'a Scenario,
    rules: Rules,
    targets: BTreeMap<&'a str, Target>,
    trace: Trace,
}

/// What the kit knows of one target.
#[derive(Default)]
struct Target {
    checks: usize,
    /// Seconds as a float, because the kit adds its times up in one: whether it is due at a tick
    /// is decided by the last bit.
    due: f64,
    failures: u32,
    /// What it was told to be last, in whatever the callback follows.
    told: Option<String>,
    healthy: bool,
    has_channel: bool,
    first_at: Option<Seconds>,
}

impl<'a> Kit<'a> {
    /// One loop over some targets, until the end of the recording.
    fn check_together(&mut self, targets: &[&'a str]) {
        let end = self.scenario.run_for.as_secs();
        let tick = self.scenario.check_interval.as_secs().min(1.0);
        let mut now = 0.0;
        while now < end - NOISE {
            let due = |kit: &Self, target: &str| kit.targets.get(target).map_or(0.0, |one| one.due);
            let is_due = |target: &&&str| due(self, target) <= now;
            let pass: Vec<&str> = targets.iter().filter(is_due).copied().collect();
            let mut pass_end = now;
            for target in &pass {
                pass_end = f64::max(pass_end, self.check(target, now));
            }
            for target in &pass {
                let target = self.targets.entry(target).or_default();
                let doublings = target.failures.saturating_sub(1).min(60) as i32;
                let grown = self.scenario.check_interval.as_secs() * 2f64.powi(doublings);
                target.due = pass_end + grown.min(self.scenario.max_backoff.as_secs());
            }
            now = if self.rules.contains(Rule::IndependentTargets) {
                targets.iter().map(|target| due(self, target)).fold(f64::INFINITY, f64::min)
            } else {
                pass_end + tick
            };
        }
    }

    /// One check; returns when it ended.
    fn check(&mut self, name: &'a str, now: f64) -> f64 {
        let target = self.targets.entry(name).or_default();
        let (latency, answer) = self.scenario.check(name, target.checks);
        let ended = now + latency.as_secs();
        let at = Seconds::from_secs(ended);
        self.trace.probes.push((Seconds::from_secs(now), name.to_owned()));
        target.checks += 1;
        target.has_channel = true;
        if at >= self.scenario.run_for {
            return ended;
        }
        target.first_at.get_or_insert(at);
        target.healthy = answer == Some("SERVING");
        target.failures = if target.healthy { 0 } else { target.failures + 1 };
        if answer.is_none() {
            target.has_channel = false;
            self.trace.dropped_channels.push((at, name.to_owned()));
        }
        let status = answer.unwrap_or("NOT_SERVING");
        let news = if self.rules.contains(Rule::HealthBit) {
            target.healthy.to_string()
        } else {
            status.to_owned()
        };
        if target.told.replace(news.clone()) != Some(news) {
            self.trace.callbacks.push((at, name.to_owned(), target.healthy));
        }
        ended
    }

    fn finish(mut self) -> Trace {
        let end = self.scenario.run_for;
        for (name, target) in &self.targets {
            if target.has_channel {
                self.trace.dropped_channels.push((end, (*name).to_owned()));
            }
            self.trace.healthy.insert((*name).to_owned(), target.healthy);
            self.trace.fail_counts.insert((*name).to_owned(), Some(target.failures));
        }
        let firsts: Option<Vec<Seconds>> = self.targets.values().map(|one| one.first_at).collect();
        self.trace.ready_at = firsts.and_then(|firsts| firsts.into_iter().max());
        self.trace.ready = self.trace.ready_at.is_some();
        self.scenario.settled(self.trace)
    }
}

/// Less than any span in a recording, and more than its floats are off by.
const NOISE: f64 = 1e-6;
