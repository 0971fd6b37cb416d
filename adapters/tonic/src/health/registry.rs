//! This file knows which targets are monitored, and which tasks ask them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::builder::HealthMode;
use super::flag::HealthFlag;
use super::run::{Keep, Shared};
use super::target::Target;
use crate::pool::Task;

/// The targets of a checker.
#[derive(Default)]
pub(super) struct Registry {
    /// The runtime it was started in, until it is stopped, and who ends with that.
    runtime: Option<(Handle, Task)>,
    places: HashMap<Arc<str>, Place>,
    /// Those that were asked out of turn and that nobody monitors, oldest first.
    strays: VecDeque<Arc<str>>,
}

struct Place {
    target: Arc<Target>,
    monitored: bool,
    task: Option<JoinHandle<()>>,
}

impl Registry {
    pub(super) fn is_running(&self) -> bool {
        self.runtime.as_ref().is_some_and(|(_, sentinel)| !sentinel.is_finished())
    }

    /// Whether its runtime is gone, and its tasks with it.
    pub(super) fn is_orphaned(&self) -> bool {
        self.runtime.is_some() && !self.is_running()
    }

    /// Whether everybody who is monitored has a verdict; `None` is not yet, `false` never.
    pub(super) fn is_ready(&self) -> Option<bool> {
        if !self.is_running() {
            return Some(false);
        }
        let mut monitored = self.places.values().filter(|place| place.monitored);
        monitored.all(|place| place.target.flag.is_healthy().is_some()).then_some(true)
    }

    /// Whether it was not running before.
    pub(super) fn start(&mut self, shared: &Arc<Shared>, runtime: Handle) -> bool {
        if self.is_running() {
            return false;
        }
        if self.is_orphaned() {
            // Of channels, too, which were that runtime's.
            self.halt();
        }
        for place in self.places.values_mut().filter(|place| place.monitored) {
            place.task = Some(spawn(shared, &runtime, &place.target));
        }
        self.runtime = Some((runtime.clone(), Task::sentinel(&runtime)));
        true
    }

    /// Ends every task and closes every channel.
    pub(super) fn halt(&mut self) {
        self.runtime = None;
        for place in self.places.values() {
            place.target.end_life();
            place.task.iter().for_each(JoinHandle::abort);
        }
    }

    /// The same; what is left of the tasks.
    pub(super) fn stop(&mut self) -> Vec<JoinHandle<()>> {
        self.halt();
        self.places.values_mut().filter_map(|place| place.task.take()).collect()
    }

    /// Monitors `name`, if it is not monitored already.
    pub(super) fn add(&mut self, shared: &Arc<Shared>, name: Arc<str>) -> HealthFlag {
        let place = self.places.entry(name).or_insert_with_key(|name| Place::of(name, shared.mode));
        if !place.monitored {
            place.monitored = true;
            self.strays.retain(|stray| *stray != place.target.name);
            place.task = self.runtime.as_ref().map(|(rt, _)| spawn(shared, rt, &place.target));
        }
        place.target.flag.clone()
    }

    /// Forgets `name`; whether it was monitored.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(place) = self.places.remove(name) else { return false };
        self.strays.retain(|stray| **stray != *name);
        place.target.end_life();
        place.target.flag.set(None);
        if let Some(task) = place.task {
            task.abort();
        }
        place.monitored
    }

    /// The verdict on `name`, monitored or not.
    pub(super) fn verdict(&self, name: &str) -> Option<bool> {
        self.places.get(name)?.target.flag.is_healthy()
    }

    /// The flag of `name`, if it is monitored.
    pub(super) fn flag(&self, name: &str) -> Option<HealthFlag> {
        let place = self.places.get(name).filter(|place| place.monitored)?;
        Some(place.target.flag.clone())
    }

    /// What is known of the monitored ones.
    pub(super) fn verdicts(&self) -> BTreeMap<Arc<str>, Option<bool>> {
        let monitored = self.places.iter().filter(|(_, place)| place.monitored);
        monitored.map(|(name, place)| (Arc::clone(name), place.target.flag.is_healthy())).collect()
    }

    /// `name`, to be asked out of turn, and what becomes of a channel that is opened for it.
    ///
    /// One that nobody monitors is remembered, so that its verdict can be asked for, but no more
    /// than [`MAX_STRAYS`] of them.
    pub(super) fn out_of_turn(&mut self, name: &str, mode: HealthMode) -> (Arc<Target>, Keep) {
        if let Some(place) = self.places.get(name) {
            let keeps = place.monitored && self.is_running();
            return (Arc::clone(&place.target), if keeps { Keep::ForTheNext } else { Keep::Not });
        }
        let place = Place::of(name, mode);
        let target = Arc::clone(&place.target);
        if self.strays.len() >= MAX_STRAYS
            && let Some(oldest) = self.strays.pop_front()
        {
            self.places.remove(&oldest);
        }
        self.strays.push_back(Arc::clone(&target.name));
        self.places.insert(Arc::clone(&target.name), place);
        (target, Keep::Not)
    }
}

impl Place {
    fn of(name: &str, mode: HealthMode) -> Self {
        Self { target: Arc::new(Target::new(name.into(), mode)), monitored: false, task: None }
    }
}

fn spawn(shared: &Arc<Shared>, runtime: &Handle, target: &Arc<Target>) -> JoinHandle<()> {
    let life = target.life();
    runtime.spawn(Arc::clone(shared).run(Arc::clone(target), life))
}

/// As many as a breaker table has methods: enough for anybody who asks by hand.
const MAX_STRAYS: usize = 1_000;
