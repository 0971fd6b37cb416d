//! This file knows when a target's health is watched next, and what its messages say.
//!
//! Before changing this file read gRFC A17, "Client-side Health Checking".

use super::{Answer, HealthChange, HealthPolicy};
use crate::{Backoff, Growth, Instant, SmallRng, Unimplemented};

/// The health of one target that is watched: a stream on which it reports every change.
///
/// ```text
///   due ──▶ open the stream ──▶ message ──▶ message ──▶ … ──▶ ended ──▶ due
///                                  └ sets the verdict           └ unhealthy until the next message
/// ```
///
/// A stream that breaks after a message is opened again at once; one that breaks without any is
/// opened after [`Backoff::CONNECTION`] (1 s, × 1.6, at most 120 s, ±20 %), which the next message
/// resets. Not the opening resets it: a peer that accepts every stream and breaks it would be
/// asked in a loop. For the same reason streams are not opened *at once* more often than every
/// second: a peer that sends one message and hangs up has to be waited for after its first time.
///
/// A peer without a health service is healthy for ever and not watched again, if
/// [`Unimplemented::Healthy`] is the policy.
///
/// ```
/// use evenkeel_core::{Answer, HealthChange, HealthPolicy, HealthWatch, Instant};
///
/// let (policy, now) = (HealthPolicy::DEFAULT, Instant::from_micros(5));
/// let mut watch = HealthWatch::new(7);
/// assert_eq!(watch.message(Answer::Serving, &policy), Some(HealthChange::Healthy));
/// assert_eq!(watch.ended(now, Answer::Failed, &policy), Some(HealthChange::Unhealthy));
/// assert_eq!(watch.due(), now, "at once, after a message");
/// watch.ended(now, Answer::Failed, &policy);
/// assert!(watch.due() > now);
///
/// watch.ended(watch.due(), Answer::Unimplemented, &policy);
/// assert_eq!((watch.due(), watch.is_healthy()), (Instant::MAX, Some(true)));
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HealthWatch {
    due: Instant,
    /// From when on a stream may be opened at once again.
    at_once_from: Instant,
    growth: Growth,
    rng: SmallRng,
    /// A message came since the last stream ended.
    heard: bool,
    verdict: Option<bool>,
}

impl HealthWatch {
    /// Never watched: due at once, and without a verdict. `seed` spreads its waits; give each
    /// target another.
    pub const fn new(seed: u32) -> Self {
        Self {
            due: Instant::ZERO,
            at_once_from: Instant::ZERO,
            growth: Growth::START,
            rng: SmallRng::seeded(seed),
            heard: false,
            verdict: None,
        }
    }

    /// Books a message of the open stream; returns whether that moved the verdict.
    pub fn message(&mut self, answer: Answer, policy: &HealthPolicy) -> Option<HealthChange> {
        self.heard = true;
        self.growth = Growth::START;
        self.judge(answer.is_healthy(policy))
    }

    /// Books the end of the stream, or that it could not be opened; returns whether that moved
    /// the verdict. Whatever the `answer` it ended with, only
    /// [`Unimplemented`](Answer::Unimplemented) can mean anything but ill health.
    pub fn ended(
        &mut self,
        now: Instant,
        answer: Answer,
        policy: &HealthPolicy,
    ) -> Option<HealthChange> {
        let without_service = matches!(answer, Answer::Unimplemented);
        if without_service && matches!(policy.unimplemented(), Unimplemented::Healthy) {
            self.due = Instant::MAX;
            return self.judge(true);
        }
        let at_once = self.heard && now >= self.at_once_from;
        self.heard = false;
        self.due = if at_once {
            self.at_once_from = now.after(Backoff::CONNECTION.initial());
            now
        } else {
            now.after(Backoff::CONNECTION.next_delay(&mut self.growth, &mut self.rng))
        };
        self.judge(false)
    }

    /// Books the answer to a check that was made beside the stream; returns whether that moved the
    /// verdict.
    ///
    /// It is believed while no message has come since the last stream ended. Against an open stream
    /// that has spoken it is not: a server that has told its state does not tell it again, so that a
    /// single check that was lost would keep its target out for ever. Nor, for the same reason, is it
    /// once the peer has said that it has no health service, and is not watched again.
    pub fn checked(&mut self, answer: Answer, policy: &HealthPolicy) -> Option<HealthChange> {
        let has_the_last_word = self.heard || self.due == Instant::MAX;
        if has_the_last_word { None } else { self.judge(answer.is_healthy(policy)) }
    }

    /// When the next stream should be opened, if none is open; [`Instant::MAX`] is never.
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// The verdict; `None` before there was any evidence.
    pub const fn is_healthy(&self) -> Option<bool> {
        self.verdict
    }

    fn judge(&mut self, healthy: bool) -> Option<HealthChange> {
        if self.verdict.replace(healthy) == Some(healthy) {
            return None;
        }
        Some(HealthChange::to(healthy))
    }
}

const _: () = assert!(size_of::<HealthWatch>() <= 32);
