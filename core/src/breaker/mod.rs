//! This file knows when calls to a target are let through, and when not.
//!
//! ```text
//!             the rule T trips                     retry_at reached: the next
//!   Closed ─────────────────────▶ Open ───────────── admission is a trial ─────▶ HalfOpen
//!      ▲                           ▲                                                │
//!      │                           └────────── a trial fails ───────────────────────┤
//!      └────────────────────── enough trials succeed ───────────────────────────────┘
//! ```
//!
//! Two outages are on file again and again elsewhere, and both are excluded by what a permit
//! carries. *Half-open for ever, because a trial never reported*: a permit is a lease, so a lost
//! trial frees its slot by itself. *A straggler closes or reopens the circuit*: a permit carries
//! the epoch it was given in, and a result of an earlier epoch changes nothing.

mod gate;
mod manual;
mod permit;
mod policy;
mod snapshot;

pub use gate::{Gate, Passage};
pub(crate) use permit::next_epoch;
pub use permit::{Permit, Rejected};
pub use policy::BreakerPolicy;
pub use snapshot::{BreakerState, Snapshot, Transition};

use crate::{Consecutive, Deadline, Instant, Trip, Verdict};

/// Guards one target: refuses while it is known to be down, and finds out when it is back.
///
/// A plain value of 24 bytes with the [`Consecutive`] rule. It never reads a clock, locks or
/// allocates; share it in whatever fits the platform (`evenkeel-std` has a lock-free front for it).
///
/// ```
/// use evenkeel_core::{
///     BreakerPolicy, CircuitBreaker, Consecutive, Deadline, Instant, Micros, Verdict, checked,
/// };
///
/// const POLICY: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(1)));
/// let mut breaker = CircuitBreaker::new();
/// let now = Instant::ZERO;
///
/// let permit = breaker.admit(now, Deadline::NONE, &POLICY).unwrap();
/// breaker.record(now, permit, Verdict::Failure, &POLICY);
///
/// let rejected = breaker.admit(now, Deadline::NONE, &POLICY).unwrap_err();
/// assert_eq!(rejected.retry_at, now + Micros::from_millis(60_000));
///
/// // From exactly that instant on, one trial; its success closes the breaker.
/// let trial = breaker.admit(rejected.retry_at, Deadline::NONE, &POLICY).unwrap();
/// assert!(breaker.admit(rejected.retry_at, Deadline::NONE, &POLICY).is_err());
/// breaker.record(rejected.retry_at, trial, Verdict::Success, &POLICY);
/// assert!(breaker.admit(rejected.retry_at, Deadline::NONE, &POLICY).is_ok());
/// ```
///
/// A permit is used once:
///
/// ```compile_fail
/// # use evenkeel_core::{BreakerPolicy, CircuitBreaker, Deadline, Instant, Verdict};
/// # let (mut breaker, now) = (CircuitBreaker::new(), Instant::ZERO);
/// # let policy = BreakerPolicy::DEFAULT;
/// let permit = breaker.admit(now, Deadline::NONE, &policy).unwrap();
/// breaker.record(now, permit, Verdict::Success, &policy);
/// breaker.record(now, permit, Verdict::Success, &policy);
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CircuitBreaker<T: Trip = Consecutive> {
    state: State<T::Memory>,
}

/// Each state with the facts that exist only in it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum State<M> {
    Closed {
        epoch: u32,
        memory: M,
    },
    ForcedClosed {
        epoch: u32,
    },
    ForcedOpen {
        epoch: u32,
    },
    HalfOpen {
        epoch: u32,
        reopenings: u8,
        trials: u8,
        successes: u8,
        opened_at: Instant,
        lease: Instant,
    },
    Open {
        epoch: u32,
        reopenings: u8,
        failures: u16,
        opened_at: Instant,
        retry_at: Instant,
    },
}

impl CircuitBreaker {
    /// A closed breaker with the [`Consecutive`] rule and nothing counted.
    pub const fn new() -> Self {
        Self::closed()
    }
}

impl<T: Trip> CircuitBreaker<T> {
    /// A closed breaker with the rule `T` and nothing counted; all zero in memory.
    pub const fn closed() -> Self {
        Self::with_epoch(0)
    }

    /// A closed breaker whose permits are told from those of any breaker with earlier epochs.
    pub(crate) const fn with_epoch(epoch: u32) -> Self {
        Self { state: State::Closed { epoch, memory: T::EMPTY } }
    }

    /// Asks for leave to make an attempt that is booked by `lease`. One that is over already admits a
    /// trial that is lost at once: ask for none then, as a [`Call`](crate::Call) does. And let it end
    /// some time after the attempt's deadline, a second with a call: what runs into that is booked
    /// only then, and a trial is lost to whoever asks from `lease` on.
    ///
    /// # Errors
    ///
    /// [`Rejected`], with the instant from which asking again makes sense.
    #[inline]
    pub fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        policy: &BreakerPolicy<T>,
    ) -> Result<Permit, Rejected> {
        match self.state {
            State::Closed { epoch, .. } => Ok(Permit::of_epoch(epoch)),
            State::ForcedClosed { .. }
            | State::ForcedOpen { .. }
            | State::HalfOpen { .. }
            | State::Open { .. } => self.admit_until(now, policy.lease_end(now, lease), policy),
        }
    }

    /// [`admit`](Self::admit) for an attempt that is waited for until `lease`.
    pub(crate) fn admit_until(
        &mut self,
        now: Instant,
        lease: Instant,
        policy: &BreakerPolicy<T>,
    ) -> Result<Permit, Rejected> {
        match &mut self.state {
            State::Closed { epoch, .. } | State::ForcedClosed { epoch } => {
                Ok(Permit::of_epoch(*epoch))
            }
            State::ForcedOpen { .. } => Err(Rejected { retry_at: Instant::MAX }),
            State::Open { epoch, reopenings, opened_at, retry_at, .. } => {
                if now < *retry_at {
                    return Err(Rejected { retry_at: *retry_at });
                }
                let epoch = next_epoch(*epoch);
                let (reopenings, opened_at) = (*reopenings, *opened_at);
                self.state = State::HalfOpen {
                    epoch,
                    reopenings,
                    trials: 1,
                    successes: 0,
                    opened_at,
                    lease,
                };
                Ok(Permit::half_opening(epoch))
            }
            State::HalfOpen { epoch, trials, successes, lease: until, .. } => {
                if *trials > 0 && now >= *until {
                    // The trials are lost. What comes of them later belongs to an ended epoch.
                    *epoch = next_epoch(*epoch);
                    *trials = 0;
                    *successes = 0;
                }
                if *trials >= policy.max_trials() {
                    return Err(Rejected { retry_at: *until });
                }
                *until = if *trials == 0 { lease } else { lease.max(*until) };
                *trials = trials.wrapping_add(1);
                Ok(Permit::of_epoch(*epoch))
            }
        }
    }

    /// Books how the attempt of `permit` ended, and answers what that changed.
    ///
    /// A permit of an earlier epoch changes nothing, whichever way its attempt ended.
    #[inline]
    pub fn record(
        &mut self,
        now: Instant,
        permit: Permit,
        verdict: Verdict,
        policy: &BreakerPolicy<T>,
    ) -> Option<Transition> {
        if permit.epoch() != self.epoch() {
            return None;
        }
        match &mut self.state {
            State::Closed { epoch, memory } => {
                if matches!(verdict, Verdict::Ignored) || !policy.trip().count(memory, now, verdict)
                {
                    return None;
                }
                let (epoch, failures) = (*epoch, T::bad(memory));
                Some(self.open(now, epoch, 0, failures, policy))
            }
            State::HalfOpen { .. } => self.record_trial(now, verdict, policy),
            State::Open { .. } | State::ForcedOpen { .. } | State::ForcedClosed { .. } => None,
        }
    }

    fn record_trial(
        &mut self,
        now: Instant,
        verdict: Verdict,
        policy: &BreakerPolicy<T>,
    ) -> Option<Transition> {
        let State::HalfOpen { epoch, reopenings, trials, successes, .. } = &mut self.state else {
            return None;
        };
        *trials = trials.saturating_sub(1);
        match verdict {
            Verdict::Ignored => None,
            Verdict::Success => {
                *successes = successes.wrapping_add(1);
                if *successes < policy.successes_to_close() {
                    return None;
                }
                *self = Self::with_epoch(next_epoch(*epoch));
                Some(Transition::Closed)
            }
            // A slow success is what a rule over slow calls opened for; it closes nothing.
            Verdict::Failure | Verdict::SlowFailure | Verdict::SlowSuccess => {
                let (epoch, reopenings) = (*epoch, reopenings.saturating_add(1));
                Some(self.open(now, epoch, reopenings, 1, policy))
            }
        }
    }

    /// Says that the trial of `permit` is still under way: prolongs the lease of an attempt that
    /// has no deadline. All trials of a half-open period share one lease, so that a lost one is
    /// waited for as long. Changes nothing for any other permit.
    pub fn renew(&mut self, now: Instant, permit: &Permit, policy: &BreakerPolicy<T>) {
        let renewed = policy.lease_end(now, Deadline::NONE);
        if permit.epoch() == self.epoch()
            && let State::HalfOpen { lease, .. } = &mut self.state
        {
            *lease = renewed.max(*lease);
        }
    }

    fn open(
        &mut self,
        now: Instant,
        epoch: u32,
        reopenings: u8,
        failures: u16,
        policy: &BreakerPolicy<T>,
    ) -> Transition {
        let epoch = next_epoch(epoch);
        let retry_at = now.after(policy.open_time(epoch, reopenings));
        self.state = State::Open { epoch, reopenings, failures, opened_at: now, retry_at };
        Transition::Opened
    }

    /// Whether it is anything but closed: forgetting it would change what it answers.
    pub const fn is_protecting(&self) -> bool {
        !matches!(self.state, State::Closed { .. })
    }

    /// Whether it is closed and remembers no bad call: the first to be forgotten by a table.
    pub fn is_clean(&self) -> bool {
        matches!(&self.state, State::Closed { memory, .. } if T::bad(memory) == 0)
    }

    pub(crate) const fn epoch(&self) -> u32 {
        match self.state {
            State::Closed { epoch, .. }
            | State::ForcedClosed { epoch }
            | State::ForcedOpen { epoch }
            | State::HalfOpen { epoch, .. }
            | State::Open { epoch, .. } => epoch,
        }
    }
}

impl<T: Trip> Default for CircuitBreaker<T> {
    fn default() -> Self {
        Self::closed()
    }
}

const _: () = assert!(size_of::<CircuitBreaker>() == 24, "a breaker is paid for per key");
const _: () = assert!(size_of::<CircuitBreaker<crate::LastN>>() <= 40);
const _: () = assert!(size_of::<CircuitBreaker<crate::TimeWindow>>() <= 64);
