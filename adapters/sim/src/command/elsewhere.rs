//! This file knows what is looked for at other loads than the scenario's own: the recovery map and the
//! safe load. Their fleets are small, but none has less than one worker: where that one is so fast
//! that a run would have too many calls, or so slow that it would have too few, nothing is looked for,
//! and a person is told; nor where clients think, whose load is what the server lets it be.

use evenkeel_sim::{Arrivals, Map, Policy, Scenario, safe_load};

use crate::parallel;
use crate::progress::Progress;

/// What was found, and what was left out.
#[derive(Default)]
pub(crate) struct Elsewhere {
    pub(crate) map: Option<Map>,
    pub(crate) safe_load: Option<f64>,
    /// Sentences, one for each of the two that is not whole.
    pub(crate) left_out: Vec<String>,
}

impl Elsewhere {
    pub(crate) fn look(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<Self, String> {
        let mut found = Self::default();
        match unlike(scenario) {
            Some(why) => found.left_out.push(format!("The map is not drawn: {why}.")),
            None => found.run_map(scenario, policy, seed)?,
        }
        match safe(scenario, policy, seed)? {
            Ok(load) => found.safe_load = Some(load),
            Err(why) => found.left_out.push(format!("The safe load is not looked for: {why}.")),
        }
        Ok(found)
    }

    fn run_map(&mut self, scenario: &Scenario, policy: &Policy, seed: u64) -> Result<(), String> {
        let mut map = Map::new();
        if let Some(load) = map.leave_out(scenario) {
            let load = (load * 100.0).round();
            self.left_out.push(format!("The map leaves out {load} % load and more: {TOO_MANY}."));
        }
        if map.cells.is_empty() {
            return Ok(());
        }
        let cells: Vec<usize> = (0..map.cells.len()).collect();
        let progress = Progress::new("the recovery map", cells.len() as u64);
        let look = |index: &usize| map.look(*index, scenario, policy, seed);
        let looked = parallel::each(&cells, look, || progress.step());
        drop(progress);
        map.cells =
            looked.into_iter().collect::<Result<_, _>>().map_err(|unfit| unfit.to_string())?;
        self.map = Some(map);
        Ok(())
    }
}

/// The safe load; or why it is not looked for.
pub(crate) fn safe(
    scenario: &Scenario,
    policy: &Policy,
    seed: u64,
) -> Result<Result<f64, &'static str>, String> {
    if let Some(why) = unlike(scenario) {
        return Ok(Err(why));
    }
    if !Map::can_run(scenario, 1.0, scenario.fault.length) {
        return Ok(Err(TOO_MANY));
    }
    let _progress = Progress::new("the safe load", 1);
    safe_load(scenario, policy, seed).map(Ok).map_err(|unfit| unfit.to_string())
}

/// Why no run at another load says anything, if none does: its calls would come otherwise, or a tenth
/// of the load, which is the least on the map, has too few to judge by.
fn unlike(scenario: &Scenario) -> Option<&'static str> {
    match scenario.fleet.arrivals {
        Arrivals::Closed { .. } => Some(THINKS),
        Arrivals::Open { .. } => (scenario.capacity() < 10.0).then_some(TOO_FEW),
    }
}

/// Why something is left out.
const TOO_MANY: &str = "its runs would have too many calls or events";
const THINKS: &str = "its calls would come at a rate, and not when a client has thought";
const TOO_FEW: &str = "its runs would have too few calls to judge by";
