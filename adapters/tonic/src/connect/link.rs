//! This file knows how the schedule of one target is shared: a lock, the clock, and a channel that
//! tells every state to whoever watches.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use evenkeel_tokio::core::{Clock, Instant};
use portable_atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

use super::schedule::{Schedule, Serial};
use super::{DialError, State};
use crate::observe::Subchannel;
use evenkeel_tokio::TokioClock;

/// What the connector, its connections and its handles share.
#[derive(Debug)]
pub(super) struct Link {
    schedule: Mutex<Schedule>,
    states: watch::Sender<State>,
    /// Who counts dials and connections, if anybody does.
    counts: OnceLock<Arc<Subchannel>>,
    /// The channel wants no connection any more.
    let_go: AtomicBool,
}

impl Link {
    pub(super) fn new(schedule: Schedule) -> Self {
        let states = watch::Sender::new(schedule.state());
        let (counts, let_go) = (OnceLock::new(), AtomicBool::new(false));
        Self { schedule: Mutex::new(schedule), states, counts, let_go }
    }

    /// One step of the schedule, and the state told if it changed.
    pub(super) fn step<R>(&self, step: impl FnOnce(&mut Schedule, Instant) -> R) -> R {
        let mut schedule = self.lock();
        let before = schedule.changes();
        let answer = step(&mut schedule, TokioClock.now());
        if schedule.changes() != before {
            // Under the lock, so that states are told in the order they came about.
            self.states.send_replace(schedule.state());
        }
        answer
    }

    /// A dial is over without a connection, if it is still the one there is.
    pub(super) fn failed(&self, serial: Serial, cause: DialError) {
        let failed = self.step(|schedule, now| schedule.failed(now, serial, cause));
        if let Some(counts) = self.counts().filter(|_| failed) {
            counts.failed();
        }
    }

    /// From now on; who was first stays.
    pub(super) fn counted_by(&self, counts: Arc<Subchannel>) {
        _ = self.counts.set(counts);
    }

    pub(super) fn counts(&self) -> Option<&Arc<Subchannel>> {
        self.counts.get()
    }

    pub(super) fn let_go(&self) {
        self.let_go.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_let_go(&self) -> bool {
        self.let_go.load(Ordering::Relaxed)
    }

    pub(super) fn states(&self) -> watch::Receiver<State> {
        self.states.subscribe()
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    pub(super) fn last_failure(&self) -> Option<DialError> {
        self.lock().last_failure().cloned()
    }

    pub(super) fn is_making(&self, since: Instant) -> bool {
        self.lock().is_making(since)
    }

    /// A panic under the lock is not possible; if it were, the schedule would still be whole.
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits is counted from here until it is dropped, however it ends.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a Link);

impl<'a> Waiting<'a> {
    pub(super) fn enroll(link: &'a Link) -> Self {
        link.step(|schedule, _| schedule.enroll());
        Self(link)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.step(|schedule, _| schedule.leave());
    }
}

/// A dial on its way. One that is dropped without an answer has failed: a target whose dial was
/// forgotten would be "connecting" for ever.
#[derive(Debug)]
pub(super) struct Dialing {
    pub(super) link: Arc<Link>,
    pub(super) serial: Serial,
}

impl Drop for Dialing {
    fn drop(&mut self) {
        self.link.failed(self.serial, DialError::Abandoned);
    }
}
