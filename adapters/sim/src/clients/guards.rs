//! This file knows the clients' breakers, the core's own, and the model that stands in for one.

use core::hint::black_box;

#[cfg(feature = "command")]
use evenkeel_core::AnyOf;
#[cfg(feature = "rehearse")]
use evenkeel_core::Snapshot;
use evenkeel_core::{
    BreakerPolicy, CircuitBreaker, Deadline, Instant, LastN, Permit, Refusal, Rejected, Report,
    TimeWindow, Transition, Trip,
};

use crate::chance::subseed;
use crate::models::{Adaptive, AdaptiveMemory};
use crate::{Chance, Guard, Policy};

/// One guard for each client, all of one kind.
#[derive(Debug)]
pub(super) enum Guards {
    Adaptive(Adaptive, Vec<AdaptiveMemory>),
    Consecutive(Breakers<evenkeel_core::Consecutive>),
    LastN(Breakers<LastN>),
    #[cfg(feature = "command")]
    LastNs(Box<Breakers<AnyOf<LastN, LastN>>>),
    None,
    TimeWindow(Breakers<TimeWindow>),
    #[cfg(feature = "command")]
    TimeWindows(Box<Breakers<AnyOf<TimeWindow, TimeWindow>>>),
}

/// The core's breakers, one for each client.
#[derive(Debug)]
pub(super) struct Breakers<T: Trip> {
    policy: BreakerPolicy<T>,
    /// The spread of open times; each client draws from a seed of its own.
    jitter: u16,
    seed: u64,
    each: Vec<Line<CircuitBreaker<T>>>,
}

/// Alone in its cache lines, because neighbours are never used together.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line<B>(B);

impl Guards {
    pub(super) fn new(policy: &Policy, clients: usize, seed: u64) -> Self {
        let jitter = policy.open_jitter;
        match policy.guard {
            Guard::Adaptive(rule) => Self::Adaptive(rule, vec![AdaptiveMemory::EMPTY; clients]),
            Guard::Consecutive(rule) => {
                Self::Consecutive(Breakers::new(rule, jitter, clients, seed))
            }
            Guard::LastN(rule) => Self::LastN(Breakers::new(rule, jitter, clients, seed)),
            #[cfg(feature = "command")]
            Guard::LastNs(rule) =>
            {
                #[cfg(feature = "command")]
                Self::LastNs(Box::new(Breakers::new(rule, jitter, clients, seed)))
            }
            Guard::None => Self::None,
            #[cfg(feature = "command")]
            Guard::TimeWindows(rule) =>
            {
                #[cfg(feature = "command")]
                Self::TimeWindows(Box::new(Breakers::new(rule, jitter, clients, seed)))
            }
            Guard::TimeWindow(rule) => Self::TimeWindow(Breakers::new(rule, jitter, clients, seed)),
        }
    }

    /// What a client's breaker looks like, if it has one of the core's.
    #[cfg(feature = "rehearse")]
    pub(super) fn snapshot(&self, client: usize) -> Option<Snapshot> {
        match self {
            Self::Consecutive(breakers) => Some(breakers.each[client].0.snapshot()),
            Self::LastN(breakers) => Some(breakers.each[client].0.snapshot()),
            #[cfg(feature = "command")]
            Self::LastNs(breakers) => Some(breakers.each[client].0.snapshot()),
            #[cfg(feature = "command")]
            Self::TimeWindows(breakers) => Some(breakers.each[client].0.snapshot()),
            Self::TimeWindow(breakers) => Some(breakers.each[client].0.snapshot()),
            Self::None | Self::Adaptive(..) => None,
        }
    }

    /// Has a client's breaker brought from memory. A model's is smaller, and left where it is.
    #[inline]
    pub(super) fn fetch(&self, client: usize) {
        match self {
            Self::Consecutive(breakers) => breakers.fetch(client),
            Self::LastN(breakers) => breakers.fetch(client),
            Self::TimeWindow(breakers) => breakers.fetch(client),
            _ => {}
        }
    }

    #[inline]
    pub(super) fn admit(
        &mut self,
        now: Instant,
        client: usize,
        lease: Deadline,
        chance: &mut Chance,
    ) -> Result<Permit, Refusal> {
        match self {
            Self::None => Ok(Permit::UNTRACKED),
            Self::Consecutive(breakers) => Ok(breakers.admit(now, client, lease)?),
            Self::LastN(breakers) => Ok(breakers.admit(now, client, lease)?),
            #[cfg(feature = "command")]
            Self::LastNs(breakers) => Ok(breakers.admit(now, client, lease)?),
            #[cfg(feature = "command")]
            Self::TimeWindows(breakers) => Ok(breakers.admit(now, client, lease)?),
            Self::TimeWindow(breakers) => Ok(breakers.admit(now, client, lease)?),
            Self::Adaptive(rule, each) => {
                let admitted = each[client].admit(now.as_micros(), rule, chance);
                let refused = Refusal::CircuitOpen { retry_at: now };
                if admitted { Ok(Permit::UNTRACKED) } else { Err(refused) }
            }
        }
    }

    /// Books an attempt's end; answers whether the breaker was half-open, and what changed.
    #[inline]
    pub(super) fn record(
        &mut self,
        now: Instant,
        client: usize,
        permit: Permit,
        report: &Report,
    ) -> (bool, Option<Transition>) {
        match self {
            Self::None => (false, None),
            Self::Consecutive(breakers) => breakers.record(now, client, permit, report),
            Self::LastN(breakers) => breakers.record(now, client, permit, report),
            #[cfg(feature = "command")]
            Self::LastNs(breakers) => breakers.record(now, client, permit, report),
            #[cfg(feature = "command")]
            Self::TimeWindows(breakers) => breakers.record(now, client, permit, report),
            Self::TimeWindow(breakers) => breakers.record(now, client, permit, report),
            Self::Adaptive(rule, each) => {
                if report.is_success() {
                    each[client].accepted(now.as_micros(), rule);
                }
                (false, None)
            }
        }
    }
}

impl<T: Trip> Breakers<T> {
    fn new(policy: BreakerPolicy<T>, jitter: u16, clients: usize, seed: u64) -> Self {
        Self { policy, jitter, seed, each: vec![Line(CircuitBreaker::closed()); clients] }
    }

    #[inline]
    fn fetch(&self, client: usize) {
        black_box(self.each[client].0.is_protecting());
    }

    #[inline]
    fn admit(&mut self, now: Instant, client: usize, lease: Deadline) -> Result<Permit, Rejected> {
        self.each[client].0.admit(now, lease, &self.policy)
    }

    #[inline]
    fn record(
        &mut self,
        now: Instant,
        client: usize,
        permit: Permit,
        report: &Report,
    ) -> (bool, Option<Transition>) {
        let breaker = &mut self.each[client].0;
        let protecting = breaker.is_protecting();
        let verdict = self.policy.verdict(report);
        if self.jitter == 0 || report.is_success() {
            return (protecting, breaker.record(now, permit, verdict, &self.policy));
        }
        let seed = subseed(self.seed, client as u64) as u32;
        // Checked where the policy was made; a share it refuses would leave the times as they are.
        let own = self.policy.with_open_jitter(self.jitter, seed).unwrap_or(self.policy);
        (protecting, breaker.record(now, permit, verdict, &own))
    }
}
