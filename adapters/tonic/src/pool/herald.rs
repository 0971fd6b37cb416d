//! This file knows who keeps watch while calls wait for a connection: one task for all of them.
//!
//! Why not each call for itself? Because a thousand calls that each watch fifty members are woken
//! fifty thousand times by every round of dials, in the middle of an outage. The task has all
//! members dialled as if it were a call that waits, and tells the calls when one is connected.

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use evenkeel_tokio::core::{Clock, Deadline, Micros};
use evenkeel_tokio::{TokioClock, until};
use tokio::sync::watch;

use super::Pool;
use super::ready::{any, wait};
use super::task::{Task, first};

/// Whoever waits, and who watches for them.
pub(super) struct Herald {
    state: Mutex<State>,
    arrivals: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    waiting: usize,
    task: Option<Task>,
}

impl Herald {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), arrivals: watch::Sender::new(()) }
    }

    /// Tells when a member was connected.
    pub(super) fn arrivals(&self) -> watch::Receiver<()> {
        self.arrivals.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits; from its first to its last there is somebody who watches.
pub(super) struct Waiting<'a>(&'a Herald);

impl<'a> Waiting<'a> {
    pub(super) fn enroll<S: Clone + Send + 'static>(pool: &'a Pool<S>) -> Self {
        let mut state = pool.herald.lock();
        state.waiting += 1;
        // It may have ended with another runtime.
        if state.task.as_ref().is_none_or(Task::is_finished) {
            state.task = Task::spawn(watch(Weak::clone(&pool.me)));
        }
        Self(&pool.herald)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waiting -= 1;
        if state.waiting == 0 {
            state.task = None;
        }
    }
}

/// Until it is stopped.
async fn watch<S: Clone + Send + 'static>(pool: Weak<Pool<S>>) {
    let Some(mut changes) = pool.upgrade().map(|pool| pool.changes()) else { return };
    loop {
        changes.borrow_and_update();
        let waits = {
            let Some(pool) = pool.upgrade() else { return };
            let list = pool.list();
            let away = list
                .members()
                .filter(|member| pool.balance.may_use(member) && !member.line.is_connected());
            let waits: Vec<_> = away.filter_map(|m| wait(m, Deadline::NONE)).take(MOST).collect();
            waits
        };
        // Now and then anew, because who was connected may be so no more.
        let again = Deadline::at(TokioClock.now().after(LOOK_AGAIN));
        let arrived = until(again, first(any(waits), changes.changed())).await;
        let Some(pool) = pool.upgrade() else { return };
        if arrived.is_some() {
            pool.herald.arrivals.send_replace(());
        }
    }
}

/// Of larger fleets the others are dialled when calls pass them over.
const MOST: usize = 256;

const LOOK_AGAIN: Micros = Micros::from_millis(1_000);
