//! This file knows the end of a pool: no call begins any more, those under way have their time, and
//! then there is nothing left of it.

use core::time::Duration;
use std::sync::PoisonError;

use evenkeel_tokio::core::{Clock, Deadline};
use evenkeel_tokio::{TokioClock, until};
use portable_atomic::Ordering;

use super::Pool;

impl<S> Pool<S> {
    /// Attempts in flight, response bodies included.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Counts one more attempt, unless the pool is closed. Counted first and asked second, while
    /// who closes it does the reverse: one of the two sees the other.
    pub(super) fn enter(&self) -> bool {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let open = !self.is_closed();
        if !open {
            self.leave();
        }
        open
    }

    pub(super) fn leave(&self) {
        if self.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 && self.is_closed() {
            self.drained.notify_waiters();
        }
    }
}

impl<S: Clone + Send + 'static> Pool<S> {
    /// Lets no call begin, waits for those under way, for `grace` at most, and then ends them with
    /// their connections. Answers whether all of them ended by themselves.
    ///
    /// From the first moment on calls end in [`Closed`](crate::Closed), those included that were
    /// about to make another attempt, or that are ended with the grace: what a server may have executed
    /// of these nobody knows, and it counts for nothing against it. A connection that another client shares is left to it. Asked
    /// again, it waits as well; it cannot be undone. Dropped, it leaves the pool closed, and its
    /// calls to themselves.
    pub async fn close(&self, grace: Duration) -> bool {
        self.closed.store(true, Ordering::SeqCst);
        *self.discovery.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.waking.end();
        self.changes.send_replace(());
        let deadline = Deadline::after(TokioClock.now(), grace);
        let drained = until(deadline, self.drained()).await.is_some();
        let members = self.lock().clear();
        for member in members {
            member.disown(!drained);
        }
        self.publish(self.lock().snapshot());
        drained
    }

    async fn drained(&self) {
        loop {
            let drained = self.drained.notified();
            if self.in_flight() == 0 {
                return;
            }
            drained.await;
        }
    }
}
