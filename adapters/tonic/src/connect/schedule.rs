//! This file knows when a target may be dialled, and what is known of its connection.
//!
//! Why one schedule for all calls? tonic dials for every call that finds no connection: 200 calls
//! against a dead port are 200 dials, and callers that wait and ask again multiply even that. Here
//! one machine per target says when, and everybody who wants the target asks it.
//!
//! ```text
//!            begin                  connected
//!   Idle ─────────────► Dialing ───────────────► Connected
//!    ▲                   ▲   │ failed               │   │ lost
//!    │             begin │   ▼                      │   │
//!    │     (pause over)  Paused ◄───────────────────┘   │
//!    │                          lost before it proved   │
//!    └──────────────────────────────────────────────────┘
//!                 lost, or closed because unwanted
//! ```
//!
//! No clock, no runtime and no lock in here: `now` is an argument, randomness comes from a seed.
//! Events carry the [`Serial`] of the dial they belong to, so that one of an earlier connection,
//! which may live on for as long as its last stream, changes nothing.

use evenkeel_tokio::core::{Growth, Instant, Micros, SmallRng};

use super::{DialError, DialPolicy, NotConnected, State, Why};

/// The dials of one target.
#[derive(Debug)]
pub(super) struct Schedule {
    policy: DialPolicy,
    /// TLS begins above the connection.
    secure: bool,
    rng: SmallRng,
    /// How far the pauses have grown since the last good connection.
    ordinary: Growth,
    /// The same for the short pauses while calls wait.
    hurried: Growth,
    waiting: usize,
    last: Serial,
    /// The dial that was the last one when the server was reached in another way: what becomes of
    /// it says nothing any more.
    overtaken: Serial,
    changes: u64,
    /// How the last dial failed, until one makes a connection.
    last_failure: Option<DialError>,
    /// When it last lost a connection that somebody had come for.
    parted: Option<Instant>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Connected { since: Instant, heard: bool },
    Dialing,
    Idle,
    Paused { since: Instant, until: Instant, span: Span, cause: DialError },
}

/// Which of the two backoffs a pause was drawn from.
#[derive(Clone, Copy, Debug)]
enum Span {
    /// The short one.
    Hurried,
    /// The ordinary one, as it stood `before`.
    Ordinary { before: Growth },
}

/// Tells the events of one dial, and of the connection it made, from those of an earlier one. The
/// first is 1.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Serial(u64);

/// What somebody who needs a connection has to do.
#[derive(Debug)]
pub(super) enum Ask {
    Dial(Serial),
    Join,
    Refused(NotConnected),
}

impl Schedule {
    pub(super) const fn new(policy: DialPolicy, secure: bool, seed: u32) -> Self {
        Self {
            policy,
            secure,
            rng: SmallRng::seeded(seed),
            ordinary: Growth::START,
            hurried: Growth::START,
            waiting: 0,
            last: Serial(0),
            overtaken: Serial(0),
            changes: 0,
            last_failure: None,
            parted: None,
            phase: Phase::Idle,
        }
    }

    /// Begins a dial if its time has come. Who gets the serial makes the dial and reports.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Serial> {
        match self.phase {
            Phase::Idle => {}
            Phase::Paused { until, .. } if now >= until => {}
            Phase::Connected { .. } | Phase::Dialing | Phase::Paused { .. } => return None,
        }
        self.last = Serial(self.last.0.wrapping_add(1));
        self.enter(Phase::Dialing);
        Some(self.last)
    }

    /// For who found no connection ready to take: one that is in use elsewhere is given up, which
    /// is how a channel replaces a connection that the server is draining.
    pub(super) fn ask(&mut self, now: Instant) -> Ask {
        self.lost(now, self.last);
        if let Some(serial) = self.begin(now) {
            return Ask::Dial(serial);
        }
        match &self.phase {
            Phase::Paused { until, cause, .. } => {
                Ask::Refused(NotConnected::new(now, *until, cause.clone()))
            }
            Phase::Connected { .. } | Phase::Dialing | Phase::Idle => Ask::Join,
        }
    }

    /// The dial made a connection.
    pub(super) fn connected(&mut self, now: Instant, serial: Serial) {
        if self.is_dialing(serial) {
            self.last_failure = None;
            self.enter(Phase::Connected { since: now, heard: false });
        }
    }

    /// The dial failed; or whoever made it is gone. Whether it was under way.
    pub(super) fn failed(&mut self, now: Instant, serial: Serial, cause: DialError) -> bool {
        let failed = self.is_dialing(serial);
        if failed {
            self.pause(now, cause);
        }
        failed
    }

    /// The first bytes came.
    pub(super) fn heard(&mut self, serial: Serial) {
        if serial == self.last
            && let Phase::Connected { heard, .. } = &mut self.phase
        {
            *heard = true;
        }
    }

    /// The connection is closed because nobody came for it, which says nothing about the server.
    pub(super) fn unwanted(&mut self, serial: Serial) {
        if serial == self.last && matches!(self.phase, Phase::Connected { .. }) {
            self.enter(Phase::Idle);
        }
    }

    /// The connection is gone. One that proved the server to be in order resets the backoff.
    ///
    /// "Connected" alone is no proof: a load balancer without backends accepts and closes, a
    /// server with an expired certificate accepts and fails the handshake, and to dial these at
    /// once again is the storm the pauses are there to prevent. gRPC waits for the server's first
    /// HTTP/2 frame, and so do we; below TLS the first bytes say little, there the connection must
    /// also outlive the first pause.
    pub(super) fn lost(&mut self, now: Instant, serial: Serial) {
        let Phase::Connected { since, heard } = self.phase else { return };
        if serial != self.last {
            return;
        }
        self.parted = Some(now);
        let after = now.since(since);
        if heard && (!self.secure || after >= self.policy.initial()) {
            self.start_afresh();
            self.enter(Phase::Idle);
        } else {
            self.pause(now, DialError::LostEarly { after, why: Why::default() });
        }
    }

    /// Somebody reached the server in another way: what is left of a pause says nothing any more,
    /// and neither will the end of a dial or a connection that may be older than the server is.
    pub(super) fn reached(&mut self) {
        self.overtaken = self.last;
        self.last_failure = None;
        self.start_afresh();
        if matches!(self.phase, Phase::Paused { .. }) {
            self.enter(Phase::Idle);
        }
    }

    /// One more call waits. A pause that began when nobody did is cut short, and does not count as
    /// an ordinary one.
    pub(super) fn enroll(&mut self) {
        self.waiting = self.waiting.saturating_add(1);
        let Phase::Paused { since, until, span: Span::Ordinary { before }, cause } = &self.phase
        else {
            return;
        };
        let (since, until, before, cause) = (*since, *until, *before, cause.clone());
        let Some(pause) = self.hurried_pause() else { return };
        self.ordinary = before;
        let until = until.min(since + pause);
        self.enter(Phase::Paused { since, until, span: Span::Hurried, cause });
    }

    /// One call fewer waits.
    pub(super) fn leave(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// How the last dial failed, also while the next one is under way.
    pub(super) const fn last_failure(&self) -> Option<&DialError> {
        self.last_failure.as_ref()
    }

    /// Whether who has wanted a connection from `since` on still waits for its making. Below TLS it
    /// is made once the server has answered. Who may have had an earlier one is not counted.
    pub(super) fn is_making(&self, since: Instant) -> bool {
        let is_made = match self.phase {
            Phase::Connected { heard, .. } => heard || !self.secure,
            Phase::Dialing => false,
            Phase::Idle | Phase::Paused { .. } => return false,
        };
        !is_made && self.parted.is_none_or(|parted| parted < since)
    }

    /// Differs whenever [`state`](Self::state) may.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn state(&self) -> State {
        match &self.phase {
            Phase::Connected { .. } => State::Ready,
            Phase::Dialing => State::Connecting,
            Phase::Idle => State::Idle,
            Phase::Paused { since, until, cause, .. } => {
                State::TransientFailure(NotConnected::new(*since, *until, cause.clone()))
            }
        }
    }

    fn is_dialing(&self, serial: Serial) -> bool {
        matches!(self.phase, Phase::Dialing) && serial == self.last
    }

    const fn start_afresh(&mut self) {
        self.ordinary = Growth::START;
        self.hurried = Growth::START;
    }

    fn pause(&mut self, now: Instant, cause: DialError) {
        if self.last == self.overtaken {
            return self.enter(Phase::Idle);
        }
        self.last_failure = Some(cause.clone());
        let hurried = if self.waiting > 0 { self.hurried_pause() } else { None };
        let before = self.ordinary;
        let (pause, span) = match hurried {
            Some(pause) => (pause, Span::Hurried),
            None => (
                self.policy.ordinary().next_delay(&mut self.ordinary, &mut self.rng),
                Span::Ordinary { before },
            ),
        };
        self.enter(Phase::Paused { since: now, until: now + pause, span, cause });
    }

    /// The next of the short pauses, `None` once they have reached the ordinary ones.
    ///
    /// They are spent once per outage, not once per waiting call: a stream of callers with short
    /// deadlines would otherwise dial a dead target many times a second for ever.
    fn hurried_pause(&mut self) -> Option<Micros> {
        let mut ahead = self.hurried;
        let raw = self.policy.waiting_raw().next_delay(&mut ahead, &mut self.rng);
        if raw >= self.policy.initial() {
            return None;
        }
        Some(self.policy.waiting().next_delay(&mut self.hurried, &mut self.rng))
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.changes = self.changes.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests;
