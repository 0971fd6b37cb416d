//! This file knows how our machine checks: each target for itself.

use evenkeel_core::{Answer, Health, HealthPolicy, Instant, Invalid};

use super::super::Seconds;
use super::{Scenario, Trace};

pub(super) fn run(scenario: &Scenario) -> Result<Trace, Invalid> {
    let span = |seconds: Seconds| seconds.duration().unwrap_or_default();
    let policy = HealthPolicy::DEFAULT
        .with_interval(span(scenario.check_interval))?
        .with_timeout(span(scenario.timeout))?
        .with_max_backoff(span(scenario.max_backoff))?;
    let mut trace = Trace { running: true, ready: true, ..Trace::default() };
    for name in scenario.targets.keys() {
        check(scenario, name, &policy, &mut trace);
    }
    Ok(scenario.settled(trace))
}

/// Checks one target to the end of the recording.
fn check(scenario: &Scenario, name: &str, policy: &HealthPolicy, trace: &mut Trace) {
    let end = scenario.run_for.instant();
    let (mut health, mut checks, mut has_channel) = (Health::new(), 0, false);
    let mut first_at = None;
    while health.due() < end {
        let start = health.due();
        let (latency, said) = scenario.check(name, checks);
        let now = start + latency.micros();
        trace.probes.push((start.into(), name.to_owned()));
        checks += 1;
        has_channel = true;
        if now >= end {
            break;
        }
        let answer = match said {
            Some("SERVING") => Answer::Serving,
            Some(_) => Answer::NotServing,
            None => Answer::Failed,
        };
        if !answer.proves_connection() {
            has_channel = false;
            trace.dropped_channels.push((now.into(), name.to_owned()));
        }
        if let Some(change) = health.record(now, answer, policy) {
            trace.callbacks.push((now.into(), name.to_owned(), change.is_healthy()));
        }
        first_at.get_or_insert(now);
    }
    if has_channel {
        trace.dropped_channels.push((scenario.run_for, name.to_owned()));
    }
    trace.healthy.insert(name.to_owned(), health.is_healthy() == Some(true));
    trace.fail_counts.insert(name.to_owned(), Some(health.failures()));
    trace.ready &= first_at.is_some();
    trace.ready_at = trace.ready_at.max(first_at.map(|at: Instant| at.into()));
}
