//! This file knows what is known of one target: its verdict, its schedule, its channel.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_tokio::core::{Answer, Clock, Deadline, Health, HealthChange, HealthPolicy};
use evenkeel_tokio::core::{HealthWatch, Instant};
use evenkeel_tokio::{TokioClock, fresh_seed, until};
use portable_atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

use super::builder::HealthMode;
use super::flag::HealthFlag;
use super::probe::ProbeChannel;

/// One target.
pub(super) struct Target {
    pub(super) name: Arc<str>,
    pub(super) flag: HealthFlag,
    state: Mutex<State>,
    /// Held while a verdict is published, so that those of one target are told in their order.
    telling: Mutex<()>,
    /// A check out of turn has moved the schedule.
    moved: Notify,
    /// It was told that there is no health service.
    without_service: AtomicBool,
}

struct State {
    machine: Machine,
    life: Life,
    channel: Option<(u64, ProbeChannel)>,
    channels_made: u64,
}

enum Machine {
    Check(Health),
    Watch(HealthWatch),
}

/// Which life of a target a check belongs to. Stopping the checker and removing the target end it,
/// and what an ended life still comes to is nobody's verdict and keeps no channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Life(u64);

/// What a check came to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// An answer to a `Check`.
    Checked(Answer),
    /// A watch has ended with this.
    Ended(Answer),
    /// A message on a watch.
    Message(Answer),
}

impl Event {
    pub(super) const fn answer(self) -> Answer {
        match self {
            Self::Checked(answer) | Self::Ended(answer) | Self::Message(answer) => answer,
        }
    }
}

impl Target {
    pub(super) fn new(name: Arc<str>, mode: HealthMode) -> Self {
        let machine = match mode {
            HealthMode::Check => Machine::Check(Health::new()),
            HealthMode::Watch => Machine::Watch(HealthWatch::new(fresh_seed())),
        };
        let state = State { machine, life: Life(0), channel: None, channels_made: 0 };
        Self {
            name,
            flag: HealthFlag::unknown(),
            state: Mutex::new(state),
            telling: Mutex::default(),
            moved: Notify::new(),
            without_service: AtomicBool::new(false),
        }
    }

    pub(super) fn life(&self) -> Life {
        self.state().life
    }

    /// Ends its life: its channel is closed, and what is under way does not count any more.
    pub(super) fn end_life(&self) {
        let mut state = self.state();
        state.life.0 += 1;
        let channel = state.channel.take();
        // Not under the lock: it is the user's.
        drop(state);
        drop(channel);
    }

    /// Its channel, and that channel's number.
    pub(super) fn channel(&self) -> Option<(u64, ProbeChannel)> {
        self.state().channel.clone()
    }

    /// Keeps `channel` for the checks to come, if this is still the life it was made in; its number.
    pub(super) fn keep(&self, life: Life, channel: &ProbeChannel) -> u64 {
        let mut state = self.state();
        state.channels_made += 1;
        let number = state.channels_made;
        if state.life == life {
            let old = state.channel.replace((number, channel.clone()));
            drop(state);
            drop(old);
        }
        number
    }

    /// Closes the channel with this number, if it is not another one by now: of five checks that
    /// fail together, four must not close what the first has opened again.
    pub(super) fn discard(&self, number: u64) {
        let mut state = self.state();
        let channel = state.channel.take_if(|(current, _)| *current == number);
        drop(state);
        drop(channel);
    }

    /// Books `event`, which came about for the reason `why`, and has `tell` told if that moved the
    /// verdict.
    pub(super) fn publish<R>(
        &self,
        life: Life,
        event: Event,
        why: &str,
        policy: &HealthPolicy,
        tell: impl FnOnce(bool) -> R,
    ) -> Option<R> {
        let _in_order = locked(&self.telling);
        let mut state = self.state();
        let is_this_life = state.life == life;
        let change = state.record(life, event, policy);
        drop(state);
        if is_this_life && !event.answer().is_healthy(policy) {
            self.flag.explain(why);
        }
        let change = change?;
        self.flag.set(Some(change.is_healthy()));
        Some(tell(change.is_healthy()))
    }

    /// Whether nobody has asked this before.
    pub(super) fn is_first_without_service(&self) -> bool {
        !self.without_service.swap(true, Ordering::Relaxed)
    }

    /// Whether its watch will not be opened again.
    pub(super) fn is_watched_out(&self) -> bool {
        self.due() == Instant::MAX
    }

    /// Has whoever waits for its next check look at the schedule again.
    pub(super) fn reschedule(&self) {
        self.moved.notify_one();
    }

    /// Waits for its next check.
    pub(super) async fn due_passed(&self) {
        loop {
            let due = self.due();
            if due <= TokioClock.now() {
                // A schedule that is never ahead of the clock would not let anybody else run.
                return tokio::task::yield_now().await;
            }
            until(Deadline::at(due), self.moved.notified()).await;
        }
    }

    fn due(&self) -> Instant {
        match &self.state().machine {
            Machine::Check(health) => health.due(),
            Machine::Watch(watch) => watch.due(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

impl State {
    fn record(&mut self, life: Life, event: Event, policy: &HealthPolicy) -> Option<HealthChange> {
        if self.life != life {
            return None;
        }
        let now = TokioClock.now();
        match (&mut self.machine, event) {
            (Machine::Check(health), Event::Checked(answer)) => health.record(now, answer, policy),
            (Machine::Watch(watch), Event::Checked(answer)) => watch.checked(answer, policy),
            (Machine::Watch(watch), Event::Message(answer)) => watch.message(answer, policy),
            (Machine::Watch(watch), Event::Ended(answer)) => watch.ended(now, answer, policy),
            // A target that is asked has no stream.
            (Machine::Check(_), Event::Message(_) | Event::Ended(_)) => None,
        }
    }
}

/// A callback's panic is caught, and nothing else here can leave a lock poisoned.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
