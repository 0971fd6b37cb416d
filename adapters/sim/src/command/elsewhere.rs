//! This file knows what is looked for at other loads than the scenario's own: the recovery map and the
//! safe load. Their fleets are small, but none has less than one worker: where that one is so fast
//! that a run would have too many calls, nothing is looked for, and a person is told.

use evenkeel_sim::{Map, Policy, Scenario, safe_load};

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
        found.run_map(scenario, policy, seed)?;
        found.safe_load = safe(scenario, policy, seed)?;
        if found.safe_load.is_none() {
            found.left_out.push(format!("The safe load is not looked for: {TOO_MANY}."));
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

/// The safe load, where its runs are not too large.
pub(crate) fn safe(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<Option<f64>, String> {
    if !Map::can_run(scenario, 1.0, scenario.fault.length) {
        return Ok(None);
    }
    let _progress = Progress::new("the safe load", 1);
    safe_load(scenario, policy, seed).map(Some).map_err(|unfit| unfit.to_string())
}

/// Why something is left out.
pub(crate) const TOO_MANY: &str = "its runs would have too many calls or events";
