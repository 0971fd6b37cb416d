//! This file knows how connections end at once, when a grace is over.
//!
//! A channel that is dropped lets its calls go on for as long as they like, which is right while a
//! pool drains. When its time is up something must end them, and what all of them go through is
//! the connection.

use core::fmt;
use core::task::{Context, Poll, Waker};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ends every connection that watches it.
#[derive(Default)]
pub(crate) struct Cut(Mutex<State>);

#[derive(Default)]
struct State {
    over: bool,
    watching: Vec<(u64, Waker)>,
    last: u64,
}

impl Cut {
    /// Now, and for whoever comes later.
    pub(crate) fn now(&self) {
        let mut state = self.lock();
        state.over = true;
        let watching = core::mem::take(&mut state.watching);
        // Not under the lock: it wakes tasks.
        drop(state);
        watching.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cut").field(&self.lock().over).finish()
    }
}

/// One connection's place in a [`Cut`]; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    cut: Arc<Cut>,
    place: u64,
}

impl Watch {
    pub(crate) fn new(cut: &Arc<Cut>) -> Self {
        let mut state = cut.lock();
        state.last = state.last.wrapping_add(1);
        Self { place: state.last, cut: Arc::clone(cut) }
    }

    /// Ready when it is over; otherwise whoever asks is woken by then.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<io::Error> {
        let mut state = self.cut.lock();
        if state.over {
            return Poll::Ready(io::Error::new(io::ErrorKind::ConnectionAborted, "closed"));
        }
        match state.watching.iter_mut().find(|(place, _)| *place == self.place) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => state.watching.push((self.place, cx.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.cut.lock().watching.retain(|(place, _)| *place != self.place);
    }
}
