//! This file knows runs: a world from its beginning to its end, once or for several seeds.

use crate::record::Run;
use crate::summary::recovery;
use crate::world::{Event, SECOND, World};
use crate::{Batch, Policy, Scenario, Summary, Unfit};

/// Runs `scenario` with every client under `policy`; the same seed gives the same record on every
/// platform.
///
/// # Errors
///
/// Refuses what [`Scenario::check`] refuses.
///
/// ```
/// use evenkeel_sim::{FaultKind, Policy, Scenario, run};
///
/// let mut scenario = Scenario::outage(FaultKind::FailFast);
/// scenario.end = evenkeel_core::Micros::from_millis(40_000);
/// let record = run(&scenario, &Policy::NO_RETRY, 11)?;
/// assert!(record.seconds[10].goodput > 600); // before the fault
/// assert_eq!(record.seconds[35].goodput, 0); // in it
/// # Ok::<(), evenkeel_sim::Unfit>(())
/// ```
pub fn run(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<Run, Unfit> {
    run_telling(scenario, policy, seed, || {})
}

/// Like [`run`]; calls `second` whenever a second of virtual time is over, for who waits for the end.
///
/// # Errors
///
/// Refuses what [`Scenario::check`] refuses.
pub fn run_telling(
    scenario: &Scenario,
    policy: &Policy,
    seed: u64,
    mut second: impl FnMut(),
) -> Result<Run, Unfit> {
    scenario.check()?;
    let mut world = World::new(scenario, policy, seed);
    world.begin();
    let end = scenario.end.as_micros();
    let mut events = 0;
    let mut cut_short = false;
    while let Some((at, event)) = world.next() {
        if at >= end {
            break;
        }
        if events == scenario.max_events {
            cut_short = true;
            break;
        }
        events += 1;
        world.now = at;
        world.happen(event);
        if matches!(event, Event::Second) {
            second();
        }
    }
    Ok(world.finish(seed, events, cut_short))
}

/// Runs `scenario` once for each of `seeds`.
///
/// # Errors
///
/// Refuses what [`Scenario::check`] refuses.
pub fn batch(scenario: &Scenario, policy: &Policy, seeds: &[u64]) -> Result<Batch, Unfit> {
    let one = |seed: &u64| Ok(Summary::of(&run(scenario, policy, *seed)?, scenario));
    Ok(Batch { runs: seeds.iter().map(one).collect::<Result<_, Unfit>>()? })
}

/// Like [`run`], but only until the fleet has recovered: the [`Summary::recovery`] of the run.
///
/// # Errors
///
/// Refuses what [`Scenario::check`] refuses.
pub fn recovery_time(
    scenario: &Scenario,
    policy: &Policy,
    seed: u64,
) -> Result<Option<u32>, Unfit> {
    Ok(until_recovered(scenario, policy, seed)?.0)
}

/// How a run of [`recovery_time`] ended.
#[cfg(feature = "command")]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Recovery {
    /// So many seconds after the fault.
    After(u32),
    /// It was cut short at [`Scenario::max_events`] before, and says nothing.
    CutShort,
    /// Not before the run's end.
    NotInTime,
}

/// Like [`recovery_time`], for who must not take a run that was cut short for one that went on.
///
/// # Errors
///
/// Refuses what [`Scenario::check`] refuses.
#[cfg(feature = "command")]
pub fn recover(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<Recovery, Unfit> {
    Ok(match until_recovered(scenario, policy, seed)? {
        (Some(seconds), _) => Recovery::After(seconds),
        (None, events) if events == scenario.max_events => Recovery::CutShort,
        (None, _) => Recovery::NotInTime,
    })
}

/// The time to recover, and how many events there were until then, or until the end.
fn until_recovered(
    scenario: &Scenario,
    policy: &Policy,
    seed: u64,
) -> Result<(Option<u32>, u64), Unfit> {
    scenario.check()?;
    let mut world = World::new(scenario, policy, seed);
    world.begin();
    let end = scenario.end.as_micros();
    let over = scenario.fault_end().as_micros().div_ceil(SECOND);
    let mut events = 0;
    while let Some((at, event)) = world.next() {
        if at >= end || events == scenario.max_events {
            break;
        }
        events += 1;
        world.now = at;
        world.happen(event);
        if matches!(event, Event::Second)
            && let Some(seconds) = recovery(world.tally.seconds_before(at), over as usize)
        {
            return Ok((Some(seconds), events));
        }
    }
    Ok((recovery(world.tally.seconds_before(world.now.min(end)), over as usize), events))
}
