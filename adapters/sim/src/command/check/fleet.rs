//! This file knows what the size of the fleet does: the same load from more clients, each with a
//! throttle and a breaker of its own.

use std::path::Path;

use evenkeel_core::Micros;
use evenkeel_sim::{Arrivals, Budget, Guard, Policy, Recovery, Scenario, counted, recover};

use crate::out::tell;
use crate::parallel;
use crate::progress::Progress;

/// Prints when fleets of several sizes recover from the outage of the scenario in `path`, which is
/// the standard one without a path.
pub(super) fn print(
    policy: &Policy,
    scenario: &Scenario,
    path: Option<&Path>,
) -> Result<(), String> {
    let Some(memory) = memory(policy) else {
        tell!("Clients remember nothing between calls: as many from more clients are the same.");
        return Ok(());
    };
    if scenario.has_few_calls_in(10.0) {
        tell!("Too few calls to judge what the same from more clients would be.");
        return Ok(());
    }
    let mut scenario = scenario.clone();
    let outage = match path {
        Some(path) => format!("The outage of {}", path.display()),
        None => {
            // More clients are longer about it.
            scenario.end = Micros::from_millis(660_000);
            "A stall of 30 s".into()
        }
    };
    let calls = counted(scenario.offered());
    tell!("{outage}, {calls} calls/s from more clients, each with {memory} of its own:");
    let fleets: Vec<Scenario> =
        SIZES.into_iter().filter_map(|clients| resized(&scenario, clients)).collect();
    let progress = Progress::new("the sizes of the fleet", fleets.len() as u64);
    let one = |fleet: &Scenario| recover(fleet, policy, 11);
    let times = parallel::each(&fleets, one, || progress.step());
    drop(progress);
    for (fleet, time) in fleets.iter().zip(times) {
        let told = match time.map_err(|unfit| unfit.to_string())? {
            Recovery::After(seconds) => format!("recovered after {seconds} s"),
            Recovery::CutShort => format!("cut short at max_events = {}", fleet.max_events),
            Recovery::NotInTime => {
                let after = fleet.end.minus(fleet.fault_end()).as_micros() / 1_000_000;
                format!("not recovered within {after} s")
            }
        };
        tell!("  {:>6} clients: {told}", fleet.fleet.clients);
    }
    Ok(())
}

/// What a client remembers between its calls, if anything.
const fn memory(policy: &Policy) -> Option<&'static str> {
    match (policy.budget, policy.guard) {
        (Budget::None, Guard::None) => None,
        (Budget::None, _) => Some("a breaker"),
        (_, Guard::None) => Some("a throttle"),
        _ => Some("a throttle and a breaker"),
    }
}

/// The scenario with so many clients, and as many calls of all of them together; `None` where so few
/// clients, with one call at a time each, cannot make them, or such a fleet cannot be run.
fn resized(scenario: &Scenario, clients: u32) -> Option<Scenario> {
    let mut fleet = scenario.clone();
    fleet.fleet.clients = clients;
    if let Arrivals::Closed { think } = scenario.fleet.arrivals {
        let service = scenario.server.service;
        let round = u128::from(think.plus(service).as_micros()) * u128::from(clients)
            / u128::from(scenario.fleet.clients);
        let think = u64::try_from(round).ok()?.checked_sub(service.as_micros())?;
        fleet.fleet.arrivals = Arrivals::Closed { think: Micros::from_micros(think) };
    }
    fleet.check().is_ok().then_some(fleet)
}

const SIZES: [u32; 4] = [10, 100, 1_000, 10_000];

#[cfg(test)]
mod tests {
    use evenkeel_core::Micros;
    use evenkeel_sim::{Arrivals, FaultKind, Scenario};

    use super::{SIZES, resized};

    #[test]
    fn a_fleet_of_another_size_makes_as_many_calls() {
        let mut scenario = Scenario::outage(FaultKind::Stall);
        for (arrivals, fleets) in [
            (Arrivals::Open { per_second: 350.0 }, 4),
            (Arrivals::Closed { think: Micros::from_millis(190) }, 4),
            // Ten clients cannot make the calls of a hundred that do not think.
            (Arrivals::Closed { think: Micros::ZERO }, 3),
            // A client of ten thousand would think for longer than a run may be.
            (Arrivals::Closed { think: Micros::from_millis(86_400_000) }, 3),
        ] {
            scenario.fleet.arrivals = arrivals;
            let all: Vec<_> =
                SIZES.iter().filter_map(|clients| resized(&scenario, *clients)).collect();
            assert_eq!(all.len(), fleets, "{arrivals:?}");
            for fleet in all {
                let change = fleet.offered() / scenario.offered() - 1.0;
                assert!(change.abs() < 0.001, "{arrivals:?}: {change}");
            }
        }
    }
}
