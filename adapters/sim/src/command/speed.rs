//! This file knows `evenkeel speed`: what simulating costs on this machine.

use core::time::Duration;

use evenkeel_core::{Jitter, Micros};
use evenkeel_sim::presets::named;
use evenkeel_sim::{Arrivals, FaultKind, Policy, Scenario, Storm, doubling, run as simulate};

use crate::clock::Stopwatch;
use crate::out::tell;

/// Measures events per second, the standard outage, a million devices, and growth with the fleet.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<bool, String> {
    tell!("The standard outage: 700 calls/s for 390 s, on one processor");
    for name in ["no-retry", "naive", "steady"] {
        let policy = named(name).map_or(Policy::NO_RETRY, |preset| preset.policy());
        measure(name, &Scenario::outage(FaultKind::Stall), &policy)?;
    }
    tell!("A million devices that reconnect, full jitter from 1 s to 60 s");
    storm();
    tell!("20,000 calls a second from more and more clients, each with a breaker and a throttle");
    series(|_| 20_000)?;
    tell!("As many calls a second as clients: more under way as well");
    series(|clients| clients)?;
    Ok(true)
}

/// Measures fleets of a thousand to a million clients with this many calls a second.
fn series(per_second: impl Fn(u32) -> u32) -> Result<(), String> {
    let steady = named("steady").map_or(Policy::NO_RETRY, |preset| preset.policy());
    let mut costs = Vec::new();
    for clients in [1_000, 10_000, 100_000, 1_000_000] {
        let scenario = crowd(clients, per_second(clients));
        costs.push(measure(&format!("{clients} clients"), &scenario, &steady)?);
    }
    if let (Some(first), Some(last)) = (costs.first(), costs.last()) {
        tell!("  cost per event, 10⁶ over 10³ clients: {:.1} ×", last / first);
    }
    Ok(())
}

/// Prints what a run costs; answers nanoseconds per event.
fn measure(name: &str, scenario: &Scenario, policy: &Policy) -> Result<f64, String> {
    let watch = Stopwatch::start();
    let record = simulate(scenario, policy, 11).map_err(|unfit| unfit.to_string())?;
    let seconds = watch.read().as_secs_f64();
    let events = record.events as f64;
    tell!(
        "  {name:<18} {:>9} events in {seconds:.3} s: {:.1} million a second",
        record.events,
        events / seconds / 1e6
    );
    Ok(seconds / events * 1e9)
}

fn storm() {
    let waits = doubling(Duration::from_secs(1), Duration::from_secs(60), Jitter::Full);
    let watch = Stopwatch::start();
    let report = Storm::new(1_000_000, waits.unwrap_or_default()).run(3);
    let seconds = watch.read().as_secs_f64();
    let memory = peak_memory().map_or_else(
        || "unknown here".into(),
        |kilobytes| format!("{} MB at the most so far", kilobytes / 1_000),
    );
    tell!("  {} dials in {seconds:.2} s; memory {memory}", report.attempts);
}

/// A fleet with so many calls a second, on a server half of which is busy.
fn crowd(clients: u32, per_second: u32) -> Scenario {
    let mut scenario = Scenario::outage(FaultKind::None);
    scenario.fleet.clients = clients;
    let think = u64::from(clients) * 1_000_000 / u64::from(per_second);
    scenario.fleet.arrivals = Arrivals::Closed { think: Micros::from_micros(think) };
    scenario.server.workers = per_second / 50;
    // Long enough that setting up the fleet is a small part.
    let span = (2_000_000_000 / u64::from(per_second)).max(6_000);
    scenario.end = Micros::from_millis(span);
    scenario
}

/// The most memory this process has had, in kilobytes, where Linux says so.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}
