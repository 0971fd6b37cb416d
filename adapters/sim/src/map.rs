//! This file knows the recovery map: for which loads and lengths of the fault an outage ends.
//!
//! A cell is a run of its own, so the fleet is made smaller: what decides is the load over the
//! capacity, the calls each client makes, and how many may wait for each worker, and all three stay
//! as they are. At another load calls come at a rate, so there is no such run of clients that think.

use evenkeel_core::Micros;

use crate::{Arrivals, Policy, Scenario, Unfit, recovery_time};

/// Seconds to recover, over load and length of the fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Loads, as shares of the capacity, in equal steps.
    pub loads: Vec<f64>,
    /// Lengths of the fault, in seconds.
    pub lengths: Vec<f64>,
    /// For each length, and in it for each load: seconds, or `None` for not within the run.
    pub cells: Vec<Option<u32>>,
}

impl Map {
    /// One whose cells have not been run.
    pub fn new() -> Self {
        let loads: Vec<f64> = (1..=9).map(|tenth| f64::from(tenth) / 10.0).collect();
        let lengths = vec![1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0];
        let cells = vec![None; loads.len() * lengths.len()];
        Self { loads, lengths, cells }
    }

    /// Runs one cell, of this map's many, and keeps what came of it.
    ///
    /// # Errors
    ///
    /// Refuses what [`Scenario::check`] refuses, and clients that [think](Arrivals::Closed).
    pub fn run_cell(
        &mut self,
        index: usize,
        scenario: &Scenario,
        policy: &Policy,
        seed: u64,
    ) -> Result<(), Unfit> {
        self.cells[index] = self.look(index, scenario, policy, seed)?;
        Ok(())
    }

    /// What one cell comes to.
    ///
    /// # Errors
    ///
    /// Refuses what [`Scenario::check`] refuses, and clients that [think](Arrivals::Closed).
    pub fn look(
        &self,
        index: usize,
        scenario: &Scenario,
        policy: &Policy,
        seed: u64,
    ) -> Result<Option<u32>, Unfit> {
        let load = self.loads[index % self.loads.len()];
        let length = self.lengths[index / self.loads.len()];
        has_other_loads(scenario)?;
        recovery_time(&smaller(scenario, load, length), policy, seed)
    }

    /// Leaves out the loads from the first on at which some cell [cannot be run](Self::can_run), and
    /// answers that load. What was run before is forgotten.
    pub fn leave_out(&mut self, scenario: &Scenario) -> Option<f64> {
        let span = |seconds: &f64| Micros::from_micros((seconds * 1e6) as u64);
        let can_run = |load: f64| {
            self.lengths.iter().all(|length| Self::can_run(scenario, load, span(length)))
        };
        let first = self.loads.iter().position(|load| !can_run(*load))?;
        let load = self.loads[first];
        self.loads.truncate(first);
        self.cells = vec![None; self.loads.len() * self.lengths.len()];
        Some(load)
    }

    /// Whether a run of the scenario's fault, of this length and at this load, can be made, is small
    /// enough, and may have enough events, for a recovery to be seen in it.
    pub fn can_run(scenario: &Scenario, load: f64, length: Micros) -> bool {
        let small = smaller(scenario, load, length.as_micros() as f64 / 1e6);
        let seen = small.fault_end().plus(Micros::from_millis(11_000));
        let part = seen.as_micros() as f64 / small.end.as_micros() as f64;
        // Each call comes and is served; what else happens to it depends on the policy.
        has_other_loads(scenario).is_ok()
            && small.check().is_ok()
            && 2.0 * small.calls() * part <= small.max_events as f64
    }

    /// How far apart the loads are.
    pub fn step(&self) -> f64 {
        match self.loads[..] {
            [first, second, ..] => second - first,
            _ => 0.1,
        }
    }

    /// The highest load at and below which every cell recovers: 0 if none does, `None` if all do.
    pub fn safe_load(&self) -> Option<f64> {
        let width = self.loads.len();
        let unsafe_at = |column: &usize| {
            (0..self.lengths.len()).any(|row| self.cells[row * width + column].is_none())
        };
        let first = (0..width).find(unsafe_at)?;
        Some(first.checked_sub(1).map_or(0.0, |column| self.loads[column]))
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

/// The highest load, as a share of the capacity, from which the scenario's own fault ends within
/// its run; found by halving, to a hundredth.
///
/// # Errors
///
/// Refuses what [`Scenario::check`] refuses, and clients that [think](Arrivals::Closed).
pub fn safe_load(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<f64, Unfit> {
    has_other_loads(scenario)?;
    let length = scenario.fault.length.as_micros() as f64 / 1e6;
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 0.01 {
        let middle = (low + high) / 2.0;
        let recovers = recovery_time(&smaller(scenario, middle, length), policy, seed)?.is_some();
        if recovers { low = middle } else { high = middle }
    }
    Ok(low)
}

/// Refuses clients that think, whose load is what the server lets it be.
fn has_other_loads(scenario: &Scenario) -> Result<(), Unfit> {
    match scenario.fleet.arrivals {
        Arrivals::Closed { .. } => Err(Unfit::new("fleet.think", "has no other load")),
        Arrivals::Open { .. } => Ok(()),
    }
}

/// The scenario at another load and with another length of its fault, with a fleet of a few
/// hundred calls a second.
fn smaller(scenario: &Scenario, load: f64, length: f64) -> Scenario {
    let mut small = scenario.clone();
    let shrink = (scenario.capacity() / ENOUGH).max(1.0);
    let workers = (f64::from(scenario.server.workers) / shrink) as u32;
    small.server.workers = workers.max(1);
    let kept = small.capacity() / scenario.capacity();
    small.fleet.clients = ((f64::from(scenario.fleet.clients) * kept) as u32).max(1);
    // Rounded up: where some may wait, some do.
    let waiting = |most: u32| (f64::from(most) * kept).ceil() as u32;
    small.server.queue_limit = scenario.server.queue_limit.map(waiting);
    let per_second = (small.capacity() * load).max(0.1);
    small.fleet.arrivals = Arrivals::Open { per_second };
    let after = scenario.end.minus(scenario.fault_end()).shorter(LONG_ENOUGH);
    small.fault.start = Micros::from_millis(10_000);
    small.fault.length = Micros::from_micros((length * 1e6) as u64);
    small.max_events = scenario.max_events.min(MOST_EVENTS);
    small.end = small.fault_end().plus(after.longer(Micros::from_millis(60_000)));
    small
}

/// Calls per second at full load.
const ENOUGH: f64 = 300.0;
/// Ten times what a cell with four attempts has; attempts without end count as "never".
const MOST_EVENTS: u64 = 10_000_000;
/// A longer run says no more about a cell.
const LONG_ENOUGH: Micros = Micros::from_millis(600_000);
