//! This file knows what others may learn of a target's connection, and how they wait for it.

use core::fmt;
use std::sync::Arc;

use evenkeel_tokio::core::{Clock, Deadline, Instant, Sent};
use tokio::sync::watch;

use super::connector::Dial;
use super::link::{Link, Waiting};
use super::{DeadlinePassed, DialError, NotConnected};
use crate::TransportError;
use crate::observe::Subchannel;
use evenkeel_tokio::{TokioClock, until};

/// What is known of the connection to one target.
#[derive(Clone, Debug)]
pub enum State {
    /// A dial is on its way.
    Connecting,
    /// Not connected, and a dial may begin at any time. So it is before the first call and after a
    /// good connection has ended.
    Idle,
    /// Connected, as far as the transport knows: with TLS, or before the server's first HTTP/2
    /// frame, this means TCP.
    Ready,
    /// The last dial failed; it says why and when the next one may begin. It stays until somebody
    /// dials.
    TransientFailure(NotConnected),
}

/// A handle to the connection of one target. Clones are cheap and watch on their own.
#[derive(Clone)]
pub struct Connectivity {
    link: Arc<Link>,
    dialer: Arc<dyn Dial>,
    states: watch::Receiver<State>,
}

impl Connectivity {
    /// Has dials and connections counted, if anybody wants to; who was first stays.
    pub(crate) fn told_to(&self, counts: Option<Arc<Subchannel>>) {
        if let Some(counts) = counts {
            self.link.counted_by(counts);
        }
    }

    pub(super) fn new(link: Arc<Link>, dialer: Arc<dyn Dial>) -> Self {
        let states = link.states();
        Self { link, dialer, states }
    }

    /// Waits until the state has changed since this handle was made or last asked here, and
    /// returns it. Quick changes may be seen as one.
    pub async fn changed(&mut self) -> State {
        // Fails only without a sender, and `link` holds it.
        _ = self.states.changed().await;
        self.states.borrow_and_update().clone()
    }

    /// What is known now.
    pub fn state(&self) -> State {
        self.states.borrow().clone()
    }

    /// How the last dial failed, also while the next one is under way; `None` after one that made
    /// a connection.
    pub fn last_failure(&self) -> Option<DialError> {
        self.link.last_failure()
    }

    /// Whether who has wanted a connection from `since` on still waits for its making.
    pub(crate) fn is_making(&self, since: Instant) -> bool {
        self.link.is_making(since)
    }

    /// A call ended in `error`. If the last connection was lost before it was good, that is why,
    /// unless the call has it from here, or was only told that the connection is gone.
    pub(crate) fn explained_by(&self, error: &TransportError) {
        if error.sent() != Sent::Never
            && NotConnected::of(error).is_none()
            && let Some(DialError::LostEarly { why, .. }) = self.link.last_failure()
        {
            why.learn(&error.source);
        }
    }

    /// Whether the state is [`State::Ready`].
    pub fn is_ready(&self) -> bool {
        matches!(*self.states.borrow(), State::Ready)
    }

    /// How many calls are inside [`wait`](Self::wait).
    pub fn waiting(&self) -> usize {
        self.link.waiting()
    }

    /// Dials in the background if the target is not connected, no dial runs and no pause after a
    /// failed one is left; otherwise does nothing.
    ///
    /// For whoever chooses between targets and would not risk a call on finding out whether one is
    /// back. A connection that no call uses within 5 s is closed again. To be called inside a tokio
    /// runtime; elsewhere it is a failed dial.
    pub fn dial(&self) {
        Arc::clone(&self.dialer).dial();
    }

    /// Ends a pause between dials, because the target was reached in another way: it answered a
    /// health check. The next dial may begin at once, also where one that is on its way, or a
    /// connection of which nothing was heard yet, turns out to be from before.
    pub fn reached(&self) {
        self.link.step(|schedule, _| schedule.reached());
    }

    /// Holds a call until the target is [`State::Ready`], and dials for it.
    ///
    /// However many wait, the target sees the dials of one schedule, and pauses are short while
    /// somebody waits. Whoever is let go sends its call then; should the connection be lost in
    /// between, the call ends in [`NotConnected`] and may wait again. Dropping the future at any
    /// point leaves nothing behind.
    ///
    /// # Errors
    ///
    /// [`DeadlinePassed`] at the deadline, and at once if that is now; then nothing is dialled.
    pub async fn wait(&self, deadline: Deadline) -> Result<(), DeadlinePassed> {
        if deadline.is_over(TokioClock.now()) {
            return Err(DeadlinePassed);
        }
        if self.is_ready() {
            return Ok(());
        }
        let _waiting = Waiting::enroll(&self.link);
        until(deadline, self.ready()).await.ok_or(DeadlinePassed)
    }

    async fn ready(&self) {
        let mut states = self.states.clone();
        loop {
            self.dial();
            let due = match &*states.borrow_and_update() {
                State::Ready => return,
                State::TransientFailure(failure) => Deadline::at(failure.retry_at()),
                State::Connecting => Deadline::NONE,
                // Lost since we looked.
                State::Idle => continue,
            };
            // Whichever comes first, we look again.
            _ = until(due, states.changed()).await;
        }
    }
}

impl fmt::Debug for Connectivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connectivity")
            .field("state", &*self.states.borrow())
            .field("waiting", &self.waiting())
            .finish()
    }
}
