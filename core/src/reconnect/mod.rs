//! This file knows when to dial next, for a link that is meant to stay up for months.
//!
//! ```text
//!   Booting ──▶ Waiting ──────▶ Dialling ──────▶ Connected
//!     splay        ▲ wait is over    │ failed, or       │ lost
//!                  │                 │ not in time      │
//!                  └─────────────────┴──────────────────┘
//! ```
//!
//! Why a machine, when a loop with a pause would do? Because the loop is what a broker meets after
//! a power cut: a thousand devices that boot together, dial together, and are refused together.
//! And because a broker that accepts and then hangs up defeats every backoff that is reset by a
//! successful dial: here only a session that *stayed* up resets it.
//!
//! Three faults are on file elsewhere (sdk-nrf #12177, `PicoMQTT` #74, sockudo #431): the wait was
//! used only between failed dials and not after a drop; it did not grow; it had no jitter at the
//! cap, so that a fleet came back as one pulse.

mod action;
mod policy;

pub use action::{Dial, Escalation, ReconnectAction, Rung, Setback};
pub use policy::ReconnectPolicy;

use crate::rng::scale;
use crate::{Deadline, Growth, Instant, Micros, Random, SmallRng};

/// One link of one device to one peer: when to dial, and what to do when dialling does not help.
///
/// State only: 48 bytes, no lifetime; every step borrows the [`ReconnectPolicy`]. Whoever talks to
/// the same peer shares one of these, or the peer meets as many schedules as there are clients.
///
/// * [`poll`](Self::poll) after every other step, and when the instant of the last
///   [`ReconnectAction::WaitUntil`] has come. At no time is polling wrong.
/// * [`connected`](Self::connected) or [`failed`](Self::failed) when a dial has ended.
/// * [`lost`](Self::lost) when the session has ended, for whatever reason.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::rng::seed_from;
/// use evenkeel_core::{Instant, Micros, Reconnect, ReconnectAction, ReconnectPolicy, checked};
///
/// static POLICY: ReconnectPolicy =
///     checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::from_secs(20)));
///
/// let mut link = Reconnect::new(seed_from(b"\x02\x00\x00\x00\x00\x01"));
/// let mut now = Instant::ZERO;
/// // A device that has just booted does not dial at once: a thousand others have booted too.
/// let ReconnectAction::WaitUntil(first) = link.poll(now, &POLICY) else { panic!() };
/// assert!(first <= now + Micros::from_millis(20_000));
///
/// now = first;
/// let ReconnectAction::Dial(dial) = link.poll(now, &POLICY) else { panic!() };
/// assert!(link.connected(now, dial, &POLICY));
///
/// // Ten seconds later the peer hangs up. That session was too short to prove anything.
/// now = now + Micros::from_millis(10_000);
/// let setback = link.lost(now, None, &POLICY).unwrap();
/// assert_eq!(setback.failures, 1);
/// assert!(setback.dial_at > now, "never at once");
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reconnect {
    /// The latest `now` of any step: a clock that goes back stands still.
    latest: Instant,
    /// Waiting: when it is over. Dialling: when the dial is too late. Connected: since when.
    at: Instant,
    /// The first failure since the last session that proved itself; [`Instant::MAX`] for none.
    failing_since: Instant,
    growth: Growth,
    rng: SmallRng,
    failures: u16,
    /// Failures since the last rung of the ladder was reached.
    climbed: u16,
    /// Tells the dials apart.
    dials: u16,
    /// Rungs reached since the last session that proved itself.
    rung: u8,
    /// How often the dial that is waited for was drawn anew, because the medium had been gone.
    put_off: u8,
    /// A rung that was reached and not told yet.
    due: Option<Escalation>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Phase {
    Booting,
    Connected,
    Dialling,
    GivenUp,
    Waiting,
}

impl Reconnect {
    /// A link of a device that has just booted; `seed` decides its splay and its jitter.
    ///
    /// Give every device a seed of its own, made from what tells it from the others
    /// ([`seed_from`](crate::rng::seed_from)). The time since boot is the same on all of them.
    pub const fn new(seed: u32) -> Self {
        Self {
            latest: Instant::ZERO,
            at: Instant::ZERO,
            failing_since: Instant::MAX,
            growth: Growth::START,
            rng: SmallRng::seeded(seed),
            failures: 0,
            climbed: 0,
            dials: 0,
            rung: 0,
            put_off: 0,
            due: None,
            phase: Phase::Booting,
        }
    }

    /// The next action. `WaitUntil(at)` is the only source of "when", and `at` is always later
    /// than `now`; [`Instant::MAX`] while a session is up, which is not waited out but used.
    ///
    /// A dial that is neither [`connected`](Self::connected) nor [`failed`](Self::failed) by its
    /// deadline has failed.
    pub fn poll(&mut self, now: Instant, policy: &ReconnectPolicy) -> ReconnectAction {
        let now = self.moved_on(now);
        match self.phase {
            Phase::Booting => {
                self.at = now.after(policy.draw_splay(&mut self.rng));
                self.phase = Phase::Waiting;
            }
            Phase::Dialling if now >= self.at => {
                let _ = self.set_back(now, None, policy);
            }
            Phase::Connected | Phase::Dialling | Phase::GivenUp | Phase::Waiting => {}
        }
        if let Some(step) = self.due.take() {
            return ReconnectAction::Escalate(step);
        }
        match self.phase {
            Phase::Waiting if now >= self.at => self.dial(now, policy),
            Phase::Connected => ReconnectAction::WaitUntil(Instant::MAX),
            Phase::GivenUp => ReconnectAction::GiveUp,
            Phase::Booting | Phase::Dialling | Phase::Waiting => {
                ReconnectAction::WaitUntil(self.at)
            }
        }
    }

    /// Says that `dial` led to a session, and answers whether it counts: one that came at or after
    /// the dial's deadline does not, and should be closed.
    ///
    /// Say it when the *session* is up (logged in, subscribed), not when the socket is.
    #[must_use = "a session that does not count must be closed"]
    pub fn connected(&mut self, now: Instant, dial: Dial, policy: &ReconnectPolicy) -> bool {
        let now = self.moved_on(now);
        if !self.is_current(&dial) {
            return false;
        }
        if now >= self.at {
            let _ = self.set_back(now, None, policy);
            return false;
        }
        self.at = now;
        self.phase = Phase::Connected;
        true
    }

    /// Says that `dial` failed, and answers what follows; `None` if it was given up already.
    ///
    /// With `retry_after` the peer asked to be left alone for so long. That only ever lengthens the
    /// wait: the jittered wait comes on top, so that a fleet which was told the same number does
    /// not come back in one instant. More than the policy's `max_hint` is taken as that.
    pub fn failed(
        &mut self,
        now: Instant,
        dial: Dial,
        retry_after: Option<Micros>,
        policy: &ReconnectPolicy,
    ) -> Option<Setback> {
        let now = self.moved_on(now);
        if self.is_current(&dial) { Some(self.set_back(now, retry_after, policy)) } else { None }
    }

    /// Says that the session has ended, and answers what follows; `None` if there was none.
    ///
    /// One that stayed up for `stable_after` starts everything over: backoff, ladder, give-up
    /// window. A shorter one is a failure like a failed dial, also one that was ended because all had
    /// been sent: see [`with_stable_after`](ReconnectPolicy::with_stable_after) for devices that
    /// sleep. Either way the next dial waits, and never for nothing. `retry_after` is as in
    /// [`failed`](Self::failed).
    pub fn lost(
        &mut self,
        now: Instant,
        retry_after: Option<Micros>,
        policy: &ReconnectPolicy,
    ) -> Option<Setback> {
        let now = self.moved_on(now);
        if !matches!(self.phase, Phase::Connected) {
            return None;
        }
        if now.since(self.at) < policy.stable_after() {
            return Some(self.set_back(now, retry_after, policy));
        }
        self.failing_since = Instant::MAX;
        self.growth = Growth::START;
        self.failures = 0;
        self.climbed = 0;
        self.rung = 0;
        self.wait(now, retry_after, policy);
        Some(Setback { failures: 0, dial_at: self.at })
    }

    /// Says that the medium below has come back: the cable, the association.
    ///
    /// What brought it back, a switch or an access point, brought it back for everybody on it. So a
    /// dial that was due in the meantime is drawn anew, evenly over one step of the backoff or over as
    /// long as it is overdue, whichever is shorter; one that is due later stays.
    ///
    /// It is drawn anew three times at most: a driver that cannot tell a medium that was gone from
    /// one that is slow to answer says this before every dial, and would never make one.
    pub fn carrier_back(&mut self, now: Instant, policy: &ReconnectPolicy) {
        let now = self.moved_on(now);
        let overdue = now.since(self.at);
        if matches!(self.phase, Phase::Waiting) && !overdue.is_zero() && self.put_off < PUT_OFF {
            // Evenly, whatever the jitter: what is drawn around a delay would come together again. And
            // what came due within a moment needs no more than that to be as far apart again.
            let over = policy.backoff().longest_next(self.growth).shorter(overdue).as_micros();
            self.at = now.after(Micros::from_micros(scale(over, self.rng.next_u32())));
            self.put_off = self.put_off.saturating_add(1);
        }
    }

    /// Failed dials and sessions that were too short, in a row; stays at 65,535. A session that has
    /// proved itself is booked when it is [`lost`](Self::lost): until then this is the count before it.
    pub const fn failures(&self) -> u16 {
        self.failures
    }

    /// Whether a session is up.
    pub const fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Connected)
    }

    fn dial(&mut self, now: Instant, policy: &ReconnectPolicy) -> ReconnectAction {
        let end = self.end(policy);
        if end.is_over(now) {
            self.phase = Phase::GivenUp;
            return ReconnectAction::GiveUp;
        }
        self.at = now.after(policy.dial_timeout()).min(end.instant());
        self.dials = self.dials.wrapping_add(1);
        self.put_off = 0;
        self.phase = Phase::Dialling;
        ReconnectAction::Dial(Dial { deadline: self.at, number: self.dials })
    }

    fn set_back(
        &mut self,
        now: Instant,
        retry_after: Option<Micros>,
        policy: &ReconnectPolicy,
    ) -> Setback {
        self.failures = self.failures.saturating_add(1);
        self.failing_since = self.failing_since.min(now);
        self.climb(policy.ladder());
        self.wait(now, retry_after, policy);
        if self.end(policy).is_over(self.at) {
            // A wait that cannot lead to a dial is not begun.
            self.phase = Phase::GivenUp;
            return Setback { failures: self.failures, dial_at: Instant::MAX };
        }
        Setback { failures: self.failures, dial_at: self.at }
    }

    fn wait(&mut self, now: Instant, retry_after: Option<Micros>, policy: &ReconnectPolicy) {
        let own = policy.backoff().next_delay(&mut self.growth, &mut self.rng);
        let asked = retry_after.unwrap_or(Micros::ZERO).shorter(policy.max_hint());
        self.at = now.after(own.longer(SHORTEST_WAIT).plus(asked));
        self.phase = Phase::Waiting;
    }

    /// One failure up the ladder; beyond the last rung, that one comes again and again.
    fn climb(&mut self, ladder: &[Rung]) {
        let next = ladder.get(usize::from(self.rung)).or_else(|| ladder.last());
        let Some(rung) = next else { return };
        self.climbed = self.climbed.saturating_add(1);
        if self.climbed >= rung.after {
            self.climbed = 0;
            self.rung = self.rung.saturating_add(1);
            self.due = Some(rung.step);
        }
    }

    /// When the give-up window is over.
    const fn end(&self, policy: &ReconnectPolicy) -> Deadline {
        Deadline::at(self.failing_since.after(policy.give_up_after()))
    }

    const fn is_current(&self, dial: &Dial) -> bool {
        matches!(self.phase, Phase::Dialling) && dial.number == self.dials
    }

    fn moved_on(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }
}

/// Full jitter draws zero once in a million or so; what is never zero is never a hot loop.
const SHORTEST_WAIT: Micros = Micros::from_micros(1);

/// How often a dial may be drawn anew: a switch that starts goes up and down more than once.
const PUT_OFF: u8 = 3;

const _: () = assert!(size_of::<Reconnect>() <= 48, "a link is paid for per device");
