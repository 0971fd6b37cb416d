//! This file knows when a target is asked for its health next, and what its answers add up to.

use super::{Answer, HealthChange, HealthPolicy};
use crate::Instant;

/// The health of one target that is asked: its verdict, and when it is asked again.
///
/// ```text
///            ┌──────────── due ◀─────────────┐
///            ▼                               │ completion + pause
///   ask, until policy.deadline(now) ──▶ record(now, answer)
/// ```
///
/// The pause is the interval; after bad answers in a row it is the interval, twice that, four
/// times that, up to `max_backoff`, and one good answer resets it. It never ends: a target that
/// has been down for a year is still asked every `max_backoff`.
///
/// Whoever asks out of turn records that answer too: it counts like any other, and the next check
/// is due a pause after it.
///
/// ```
/// use evenkeel_core::{Answer, Health, HealthChange, HealthPolicy, Instant};
///
/// let policy = HealthPolicy::DEFAULT;
/// let mut health = Health::new();
/// let seconds = |s: u64| Instant::from_micros(s * 1_000_000);
///
/// assert_eq!((health.due(), health.is_healthy()), (Instant::ZERO, None));
/// let changed = health.record(seconds(1), Answer::Serving, &policy);
/// assert_eq!(changed, Some(HealthChange::Healthy));
/// assert_eq!(health.due(), seconds(31));
///
/// health.record(seconds(31), Answer::Failed, &policy);
/// health.record(seconds(61), Answer::Failed, &policy);
/// assert_eq!((health.due(), health.is_healthy()), (seconds(121), Some(false)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Health {
    due: Instant,
    /// When the last answer came: a clock that goes back stands still.
    answered_at: Instant,
    /// Bad answers in a row.
    failures: u32,
    /// Answers in a row against the verdict.
    against: u8,
    verdict: Option<bool>,
}

impl Health {
    /// Never asked: due at once, and without a verdict.
    pub const fn new() -> Self {
        Self {
            due: Instant::ZERO,
            answered_at: Instant::ZERO,
            failures: 0,
            against: 0,
            verdict: None,
        }
    }

    /// Books what a check came to, at the moment it did; returns whether that moved the verdict.
    pub fn record(
        &mut self,
        now: Instant,
        answer: Answer,
        policy: &HealthPolicy,
    ) -> Option<HealthChange> {
        let healthy = answer.is_healthy(policy);
        self.failures = if healthy { 0 } else { self.failures.saturating_add(1) };
        self.answered_at = self.answered_at.max(now);
        self.due = self.answered_at.after(policy.pause(self.failures));
        self.judge(healthy, policy)
    }

    /// When it should be asked next.
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// The verdict; `None` before the first answer.
    pub const fn is_healthy(&self) -> Option<bool> {
        self.verdict
    }

    /// How many bad answers there were in a row, saturated.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    fn judge(&mut self, healthy: bool, policy: &HealthPolicy) -> Option<HealthChange> {
        if self.verdict == Some(healthy) {
            self.against = 0;
            return None;
        }
        self.against = self.against.saturating_add(1);
        if self.verdict.is_some() && self.against < policy.count_to(healthy) {
            return None;
        }
        self.verdict = Some(healthy);
        self.against = 0;
        Some(HealthChange::to(healthy))
    }
}

impl Default for Health {
    fn default() -> Self {
        Self::new()
    }
}

const _: () = assert!(size_of::<Health>() == 24);
