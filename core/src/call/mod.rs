//! This file knows the order in which everything else is asked, for one call.
//!
//! ```text
//!   Ready   ─── admitted ─────────────────────▶ Trying
//!           ─── refused ──────────────────────▶ Ended
//!   Trying  ─── failed, and worth a retry ────▶ Waiting
//!           ─── failed, but never executed ───▶ Ready
//!           ─── succeeded, or not worth one ──▶ Ended
//!   Waiting ─── the wait is over ─────────────▶ as from Ready
//! ```
//!
//! Why one composed machine? Because the interplay is where retry libraries fail: the last sleep
//! that overruns the deadline, the breaker that counts the caller's impatience, the token that a
//! waiting retry never paid. Here it is one function of `(state, now, what happened)`, and it is
//! tested and simulated as it ships.

mod action;
mod launch;
mod policy;
mod settle;
mod stop;
mod upstream;

pub use action::{Action, Attempt, AttemptInfo, Next};
pub use policy::CallPolicy;
pub use upstream::{Keyed, Single, Upstream};

use crate::retry::Stop;
use crate::{Deadline, Growth, Instant, Outcome, Permit, Report, SmallRng, Target, Tried, Weight};

/// One call: all attempts at one request.
///
/// State only: no lifetime, no type parameter, 64 bytes with one attempt in flight. Every step
/// borrows the [`Upstream`] it runs against and the instant it happens at:
///
/// * [`poll`](Self::poll) after [`complete`](Self::complete), and when the instant of the last
///   [`Action::WaitUntil`] has come. At no time is polling wrong: a spurious poll changes nothing.
/// * [`complete`](Self::complete) when an attempt has ended. At or after the attempt's deadline
///   its answer is too late, whatever it says.
/// * [`cancel`](Self::cancel) when the caller goes away.
///
/// `IN_FLIGHT` (1 to 8) is how many attempts may be under way at once; hedging uses more than one.
///
/// ```
/// use evenkeel_core::{
///     Action, Call, CallPolicy, Deadline, Instant, Micros, Outcome, Single, StopReason,
/// };
///
/// static POLICY: CallPolicy = CallPolicy::DEFAULT;
/// let mut upstream = Single::new(&POLICY);
/// let mut now = Instant::ZERO;
///
/// let mut answers = [Outcome::unavailable(), Outcome::success()].into_iter();
/// let mut call = Call::new(POLICY.deadline(now, Deadline::NONE), 7);
/// let reason = loop {
///     match call.poll(now, &mut upstream) {
///         Action::Attempt(attempt) => {
///             now = now + Micros::from_millis(20); // it takes a while
///             call.complete(now, &mut upstream, attempt, answers.next().unwrap());
///         }
///         Action::WaitUntil(at) => now = at,
///         Action::Finish(reason) => break reason,
///     }
/// };
/// assert_eq!((reason, call.attempts()), (StopReason::Succeeded, 2));
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Call<const IN_FLIGHT: usize = 1> {
    deadline: Deadline,
    /// The latest `now` of any step: a clock that goes back stands still.
    latest: Instant,
    /// Waiting: when it is over. Trying: when the next hedge is due. Ended: what the reason
    /// carries.
    wake: Instant,
    growth: Growth,
    flights: [Flight; IN_FLIGHT],
    rng: SmallRng,
    tried: Tried,
    /// Attempts handed out, transparent ones included.
    started: u16,
    /// Attempts that count.
    counted: u16,
    /// Attempts in a row that were never sent.
    unsent: u8,
    /// One bit for each flight: its slice is cut short, or its driver was late.
    short: u8,
    flags: u8,
    phase: Phase,
}

/// An attempt under way; `id` 0 is a free place.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Flight {
    deadline: Deadline,
    epoch: u32,
    target: Target,
    id: u16,
}

impl Flight {
    const FREE: Self =
        Self { deadline: Deadline::at(Instant::ZERO), epoch: 0, target: Target::ONLY, id: 0 };

    const fn permit(&self) -> Permit {
        Permit::of_epoch(self.epoch)
    }
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Phase {
    Ended(Stop),
    Ready,
    Trying,
    Waiting,
}

impl Call {
    /// A call that must be over by `deadline`, with one attempt in flight at a time; `seed`
    /// decides its jitter.
    ///
    /// Give every call a seed of its own ([`SmallRng`] or the operating system make good ones),
    /// never a reading of a clock.
    pub const fn new(deadline: Deadline, seed: u32) -> Self {
        Self::with_room(deadline, seed)
    }
}

impl<const IN_FLIGHT: usize> Call<IN_FLIGHT> {
    /// Like [`new`](Call::new), with room for `IN_FLIGHT` attempts at once.
    pub const fn with_room(deadline: Deadline, seed: u32) -> Self {
        const { assert!(IN_FLIGHT >= 1 && IN_FLIGHT <= 8, "1 to 8 attempts in flight") }
        Self {
            deadline,
            latest: Instant::ZERO,
            wake: Instant::ZERO,
            growth: Growth::START,
            flights: [Flight::FREE; IN_FLIGHT],
            rng: SmallRng::seeded(seed),
            tried: Tried::NONE,
            started: 0,
            counted: 0,
            unsent: 0,
            short: 0,
            flags: 0,
            phase: Phase::Ready,
        }
    }

    /// Waits for an eligible target, until the deadline, instead of giving up without one
    /// (gRPC's wait-for-ready). Poll again when eligibility changes.
    pub const fn wait_for_ready(mut self) -> Self {
        self.flags |= WAIT_FOR_READY;
        self
    }

    /// Says that the request cannot be given a second time, because a stream was read or a body is
    /// too large to keep. Nothing is repeated from here on, not even what was never sent, and not
    /// what was waiting to be.
    pub fn forbid_repeats(&mut self) {
        self.flags |= NOT_REPLAYABLE;
        if self.started > 0 && matches!(self.phase, Phase::Ready | Phase::Waiting) {
            if self.is_flying() {
                self.phase = Phase::Trying;
                return;
            }
            self.phase = Phase::Ended(Stop::NotReplayable);
            // What was to be repeated without counting as an attempt is what the call ends in.
            self.counted = self.counted.max(1);
        }
    }

    /// Settles on `attempt`, whose answer has begun to arrive: every other attempt under way is
    /// given up without a verdict, and nothing is repeated from here on. If the attempt was given
    /// up already, or its deadline is over, nothing changes.
    pub fn commit<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        attempt: &Attempt,
    ) {
        let now = self.moved_on(now);
        if self.slot_of(attempt.id()).is_some_and(|slot| !self.is_too_late(now, slot)) {
            self.forbid_repeats();
            self.give_up(now, upstream, attempt.id());
        }
    }

    /// Says that `attempt` is not late because of its target: what it waits for has come, and its
    /// driver had not fetched it before the deadline. Ended by its deadline it then is no verdict, as
    /// [cut short](crate::Weight::CutShort); any other end counts as ever. If the attempt was given
    /// up already, nothing changes.
    pub fn excuse(&mut self, attempt: &Attempt) {
        if let Some(slot) = self.slot_of(attempt.id()) {
            self.short |= short_mask(slot);
        }
    }

    /// The next action. `WaitUntil(at)` is the only source of "when", and `at` is always later
    /// than `now`.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    pub fn poll<U: Upstream + ?Sized>(&mut self, now: Instant, upstream: &mut U) -> Action {
        let now = self.moved_on(now);
        self.expire(now, upstream);
        if ROOMY && matches!(self.phase, Phase::Ready) {
            return self.start(now, upstream);
        }
        self.go_on(now, upstream)
    }

    #[cfg_attr(target_pointer_width = "64", inline(never))]
    fn go_on<U: Upstream + ?Sized>(&mut self, now: Instant, upstream: &mut U) -> Action {
        match self.phase {
            Phase::Ended(stop) => Action::Finish(self.reason(stop)),
            Phase::Waiting if now < self.wake => Action::WaitUntil(self.wake),
            Phase::Waiting | Phase::Ready => self.start(now, upstream),
            Phase::Trying => self.keep_trying(now, upstream),
        }
    }

    /// Says how `attempt` ended, and answers what follows.
    ///
    /// At or after the attempt's deadline it is a `DEADLINE_EXCEEDED` of the attempt, whatever
    /// `outcome` says, also that it was never sent: nobody can tell an answer that was late from a
    /// driver that was. If the attempt was given up already, nothing changes.
    ///
    /// Attempts are told apart within their call, and not from those of others. Completing one of
    /// another call is a mistake that cannot be noticed: it ends the attempt under way here that went
    /// out in the same place, the second say, or else changes nothing.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    pub fn complete<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        attempt: Attempt,
        outcome: Outcome,
    ) -> Next {
        let now = self.moved_on(now);
        let Some(slot) = self.slot_of(attempt.id()) else { return self.following(now, None) };
        let took = now.since(attempt.started());
        let report = Report { outcome, took, weight: Weight::Counts };
        if ROOMY && report.is_success() && !self.is_too_late(now, slot) {
            return self.succeed(now, upstream, slot, report);
        }
        let because = self.settle(now, upstream, slot, report);
        self.following(now, because)
    }

    /// Gives the call up: every attempt under way is no verdict, and its permit goes back.
    /// A second time changes nothing.
    pub fn cancel<U: Upstream + ?Sized>(&mut self, now: Instant, upstream: &mut U) {
        let now = self.moved_on(now);
        if !matches!(self.phase, Phase::Ended(_)) {
            self.give_up(now, upstream, 0);
            self.phase = Phase::Ended(Stop::Cancelled);
        }
    }

    /// How many attempts were made that count. With 0 at the end the driver makes the error;
    /// otherwise the last attempt's own stands.
    pub const fn attempts(&self) -> u16 {
        self.counted
    }

    /// When the call must be over.
    pub const fn deadline(&self) -> Deadline {
        self.deadline
    }

    fn moved_on(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn slot_of(&self, id: u16) -> Option<usize> {
        if IN_FLIGHT == 1 {
            // One place needs no search.
            return self.flights.first().filter(|flight| flight.id == id).map(|_| 0);
        }
        let mut slot = 0;
        while let Some(flight) = self.flights.get(slot) {
            if flight.id == id {
                return Some(slot);
            }
            slot = slot.wrapping_add(1);
        }
        None
    }

    fn is_too_late(&self, now: Instant, slot: usize) -> bool {
        self.flights.get(slot).is_some_and(|flight| flight.deadline.is_over(now))
    }

    fn is_flying(&self) -> bool {
        self.flights.iter().any(|flight| flight.id != 0)
    }

    const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

fn short_mask(slot: usize) -> u8 {
    1u8.wrapping_shl(u32::try_from(slot).unwrap_or(0))
}

/// Where a step is paid for in instructions, and not in bytes of flash: there the usual way through
/// it is by itself, and comes to the same as the way of all others.
const ROOMY: bool = cfg!(target_pointer_width = "64");

const REFUSED_ONCE: u8 = 1;
const NOT_REPLAYABLE: u8 = 1 << 1;
const WAIT_FOR_READY: u8 = 1 << 2;
const PUSHED_BACK: u8 = 1 << 3;
/// A pushback has said when the next attempt goes out.
const PUT_OFF: u8 = 1 << 4;

const _: () = assert!(size_of::<Call>() <= 64, "a call is paid for per request");
