//! This file knows the channel of one member: made at its first use, watched while it is there,
//! and closed when nobody has used it for a while.
//!
//! Several pools may share one. What a pool holds against a member is the pool's; what is true of
//! the connection is here.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use evenkeel_tokio::core::{Clock, Deadline, Instant, Micros};
use evenkeel_tokio::{TokioClock, until};
use portable_atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use tokio::sync::Notify;

use super::cut::Cut;
use super::task::{First, Task, first};
use crate::TransportError;
use crate::connect::{Connectivity, DialError, State};
use crate::observe::Subchannel;

/// A channel, and what is known of it.
pub(crate) struct Line<S> {
    make: Maker<S>,
    idle_after: Option<Micros>,
    cut: Arc<Cut>,
    open: Mutex<Option<Open<S>>>,
    reach: AtomicU8,
    in_flight: AtomicU32,
    used_at: AtomicU64,
    /// Somebody passed it over because it is away, or lost a call with its connection.
    missed: Arc<Notify>,
    /// Members of open pools that have it; or that it was cut.
    owners: AtomicU32,
    /// How often a server has asked for fewer pings.
    calmed: AtomicU8,
    /// Who counts its dials and connections: the first owner that wants to.
    counts: OnceLock<Arc<Subchannel>>,
}

/// Makes a channel whose connections end with the cut, and which pings a server that has so often
/// asked for calm.
pub(crate) type Maker<S> = Box<dyn Fn(&Arc<Cut>, u8) -> Made<S> + Send + Sync>;

/// A channel, and who tells of its connection.
pub(crate) struct Made<S> {
    pub(crate) service: S,
    pub(crate) connectivity: Option<Connectivity>,
}

struct Open<S> {
    made: Made<S>,
    /// How often the server had asked for fewer pings by then.
    calmed: u8,
    watch: Option<Task>,
}

impl<S> Open<S> {
    /// Whether who watches it is gone, with its runtime; and so is the channel's own worker.
    fn is_orphaned(&self) -> bool {
        self.watch.as_ref().is_some_and(Task::is_finished)
    }
}

/// How well a member can be reached, as far as its connection knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Reach {
    /// Connected, or nothing is known against it.
    Near,
    /// A dial is on its way: a call would wait for it.
    Dialling,
    /// The last dial failed: a call would fail at once.
    Away,
}

impl<S> Line<S> {
    pub(crate) fn new(make: Maker<S>, idle_after: Option<Micros>) -> Arc<Self> {
        Arc::new(Self {
            make,
            idle_after,
            cut: Arc::default(),
            open: Mutex::new(None),
            reach: AtomicU8::new(Reach::Near as u8),
            in_flight: AtomicU32::new(0),
            used_at: AtomicU64::new(0),
            missed: Arc::default(),
            owners: AtomicU32::new(0),
            calmed: AtomicU8::new(0),
            counts: OnceLock::new(),
        })
    }

    pub(crate) fn reach(&self) -> Reach {
        match self.reach.load(Ordering::Relaxed) {
            0 => Reach::Near,
            1 => Reach::Dialling,
            _ => Reach::Away,
        }
    }

    /// Whether it has a connection now, as far as anybody tells.
    pub(crate) fn is_connected(&self) -> bool {
        self.told(Connectivity::is_ready) == Some(true)
    }

    /// Whether an attempt made at `since` still waits for its connection to be made.
    pub(crate) fn is_making(&self, since: Instant) -> bool {
        self.told(|connectivity| connectivity.is_making(since)) == Some(true)
    }

    /// How its last dial failed, if it has no connection since.
    pub(crate) fn last_failure(&self) -> Option<DialError> {
        self.told(Connectivity::last_failure).flatten()
    }

    /// A call ended in `error`, which may be why its last connection was lost.
    pub(crate) fn explained_by(&self, error: &TransportError) {
        self.told(|connectivity| connectivity.explained_by(error));
    }

    /// Somebody would have used it, were it not away, or it broke under a call: it is dialled when
    /// its pause is over. So it is a dial that finds out whether it is back, and no call.
    pub(crate) fn missed(&self, now: Instant) {
        self.used_at.fetch_max(now.as_micros(), Ordering::AcqRel);
        drop(self.take_if(Open::is_orphaned));
        self.missed.notify_one();
    }

    /// A health check came through: it need not be away any longer.
    pub(crate) fn reached(&self) {
        if let Some(connectivity) = self.told(Connectivity::clone) {
            connectivity.reached();
            self.reach.store(Reach::of(&connectivity.state()) as u8, Ordering::Relaxed);
        }
    }

    /// Attempts in flight, of all pools that share it.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// One more attempt. Counted before the channel is taken, so that it cannot be closed in
    /// between.
    pub(crate) fn enter(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn leave(&self, now: Instant) {
        self.used_at.fetch_max(now.as_micros(), Ordering::AcqRel);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Has its dials and connections counted from its next channel on, unless somebody does.
    pub(crate) fn counted_by(&self, counts: Option<&Arc<Subchannel>>) {
        if let Some(counts) = counts {
            self.counts.get_or_init(|| Arc::clone(counts));
        }
    }

    /// One more owner, unless it was cut: then it is nobody's any more.
    pub(crate) fn own(&self) -> bool {
        let more = |owners| (owners != CUT).then(|| owners + 1);
        self.owners.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// One owner fewer; if its connections are to be `cut`, those of the last one are.
    pub(crate) fn disown(&self, cut: bool) {
        let (acquire, release) = (Ordering::Acquire, Ordering::AcqRel);
        if self.owners.fetch_sub(1, release) == 1
            && cut
            && self.owners.compare_exchange(0, CUT, release, acquire).is_ok()
        {
            self.cut.now();
        }
    }

    /// Whether its connections were ended, because the last pool that had it was closed.
    pub(crate) fn is_cut(&self) -> bool {
        self.owners.load(Ordering::Acquire) == CUT
    }

    /// The server said GOAWAY because of too many pings (gRFC A8): from now on half as many, on
    /// a new connection. It said so to a channel that was `calmed` so often, once, and all the calls
    /// it refused tell of it: those behind the first change nothing.
    pub(crate) fn calm_down(&self, calmed: u8) {
        let less = calmed.saturating_add(1);
        let (acquire, release) = (Ordering::Acquire, Ordering::AcqRel);
        if less > CALMEST || self.calmed.compare_exchange(calmed, less, release, acquire).is_err() {
            return;
        }
        let open = self.take_if(|open| open.calmed == calmed);
        // Not under the lock: the channel may wake others. Calls that have it keep it.
        drop(open);
    }

    /// What whoever tells of its connection says, where there is a channel and somebody does.
    fn told<R>(&self, ask: impl FnOnce(&Connectivity) -> R) -> Option<R> {
        self.lock().as_ref()?.made.connectivity.as_ref().map(ask)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open<S>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When it will have been unused for too long.
    fn idle_at(&self, now: Instant) -> Deadline {
        let Some(idle_after) = self.idle_after else { return Deadline::NONE };
        let used_at = Instant::from_micros(self.used_at.load(Ordering::Acquire));
        let since = if self.in_flight() > 0 { now } else { used_at };
        Deadline::at(since.after(idle_after))
    }

    /// Closes it, if nobody uses it and nobody did for long enough.
    fn close_if_idle(&self, now: Instant) -> bool {
        let is_idle = |_: &Open<S>| {
            self.in_flight.load(Ordering::Acquire) == 0 && self.idle_at(now).is_over(now)
        };
        // Its watch ends with it, which this may be.
        self.take_if(is_idle).is_some()
    }

    /// The channel, if it is to go; nothing is known of a connection then. To be dropped where
    /// nothing is locked, because that may wake others.
    fn take_if(&self, goes: impl FnOnce(&Open<S>) -> bool) -> Option<Open<S>> {
        let taken = self.lock().take_if(|open| goes(open));
        if taken.is_some() {
            self.reach.store(Reach::Near as u8, Ordering::Relaxed);
        }
        taken
    }
}

impl<S: Clone + Send + 'static> Line<S> {
    /// The channel, made if there is none, and how often it is calmed.
    pub(crate) fn service(self: &Arc<Self>) -> (S, u8) {
        self.with_open(|open| (open.made.service.clone(), open.calmed))
    }

    /// Who tells of its connection, if anybody does.
    pub(crate) fn connectivity(self: &Arc<Self>) -> Option<Connectivity> {
        self.with_open(|open| open.made.connectivity.clone())
    }

    fn with_open<R>(self: &Arc<Self>, read: impl FnOnce(&Open<S>) -> R) -> R {
        let mut open = self.lock();
        open.take_if(|open| open.is_orphaned());
        let open = open.get_or_insert_with(|| {
            self.used_at.fetch_max(TokioClock.now().as_micros(), Ordering::AcqRel);
            let calmed = self.calmed.load(Ordering::Acquire);
            let made = (self.make)(&self.cut, calmed);
            if let Some(connectivity) = &made.connectivity {
                connectivity.told_to(self.counts.get().cloned());
            }
            let watch = made.connectivity.clone().and_then(|connectivity| {
                let missed = Arc::clone(&self.missed);
                Task::spawn(watch(Arc::downgrade(self), connectivity, missed))
            });
            Open { made, calmed, watch }
        });
        read(open)
    }
}

/// Follows the connection of `line`, dials it again when it is missed, and closes the channel when
/// nobody uses it.
async fn watch<S>(line: Weak<Line<S>>, mut connectivity: Connectivity, missed: Arc<Notify>) {
    loop {
        let idle_at = {
            let Some(line) = line.upgrade() else { return };
            line.reach.store(Reach::of(&connectivity.state()) as u8, Ordering::Relaxed);
            let now = TokioClock.now();
            if line.close_if_idle(now) {
                return;
            }
            line.idle_at(now)
        };
        let next = async {
            let pause = match connectivity.state() {
                State::TransientFailure(failure) => failure.retry_at(),
                State::Idle => Instant::ZERO,
                State::Connecting | State::Ready => Instant::MAX,
            };
            if until(Deadline::at(pause), connectivity.changed()).await.is_none()
                && let First::One(()) = first(missed.notified(), connectivity.changed()).await
            {
                connectivity.dial();
            }
        };
        _ = until(idle_at, next).await;
    }
}

impl Reach {
    const fn of(state: &State) -> Self {
        match state {
            State::Idle | State::Ready => Self::Near,
            State::Connecting => Self::Dialling,
            State::TransientFailure(_) => Self::Away,
        }
    }
}

/// In place of a number of owners.
const CUT: u32 = u32::MAX;

/// From 30 s that makes more than eight hours.
const CALMEST: u8 = 10;

impl<S> fmt::Debug for Line<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("open", &self.lock().is_some())
            .field("reach", &self.reach())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}
