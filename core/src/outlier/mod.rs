//! This file knows what the calls themselves hold against a target.
//!
//! Health checks ask a target how it is; this asks the attempts that were made anyway. A target
//! can answer every check with `SERVING` and fail every call. Two rules, each of which can be
//! off: *quarantine*, in which a single attempt that could not reach its target takes the target
//! out for a few seconds, and *ejection* (gRFC A50), in which targets are compared with each
//! other every few seconds and the odd ones out are left alone for longer each time.
//!
//! Neither is certain knowledge, so neither may leave a caller with nobody: targets that are out
//! are [`Suspect`](crate::Standing::Suspect), and [`Balancer`](crate::Balancer) turns to them when
//! nobody is [`Up`](crate::Standing::Up).

mod ejection;
mod policy;
mod rules;
mod sweep;

pub use ejection::EjectionPolicy;
pub use policy::OutlierPolicy;
pub use rules::{FailurePercentage, SuccessRate};
pub use sweep::OutlierSweep;

use crate::{Instant, Report, Standing};

/// What is held against one target. The caller keeps one for each, in a slice by target number.
///
/// ```
/// use evenkeel_core::{
///     Instant, Micros, Outcome, Outlier, OutlierChange, OutlierPolicy, Report, Standing, Weight,
/// };
///
/// let (policy, now) = (OutlierPolicy::DEFAULT, Instant::ZERO);
/// let mut outlier = Outlier::new();
/// let report =
///     Report { outcome: Outcome::unavailable(), took: Micros::ZERO, weight: Weight::Counts };
///
/// assert_eq!(outlier.record(now, &report, &policy), Some(OutlierChange::Quarantined));
/// assert_eq!(outlier.standing(Instant::from_micros(4_999_999)), Standing::Suspect);
/// assert_eq!(outlier.standing(Instant::from_micros(5_000_000)), Standing::Up);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outlier {
    quarantined_until: Instant,
    ejected_until: Instant,
    /// Since the last sweep.
    successes: u32,
    /// Since the last sweep.
    failures: u32,
    /// How many ejections long the last ejection was, less one for each quiet interval since.
    ejections: u8,
    /// Since the sweep that ejected it, to the one that finds its time over.
    ejected: bool,
}

/// A target was taken out of the rotation, or came back.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum OutlierChange {
    /// A sweep found it worse than the others.
    Ejected,
    /// A single attempt could not reach it.
    Quarantined,
    /// A sweep found the time of its ejection over. It is back since that time was over, not
    /// since this sweep; nobody tells of the end of a quarantine.
    Returned,
}

impl Outlier {
    /// Nothing; all zero in memory.
    pub const fn new() -> Self {
        Self {
            quarantined_until: Instant::ZERO,
            ejected_until: Instant::ZERO,
            successes: 0,
            failures: 0,
            ejections: 0,
            ejected: false,
        }
    }

    /// Books how an attempt on the target ended; returns whether that took it out.
    ///
    /// Nothing is booked of a report that [does not count](Report::counts), and of none that
    /// [`OutlierPolicy::minds`] says no of. An attempt that a breaker refused was none, so it
    /// never comes here.
    pub fn record(
        &mut self,
        now: Instant,
        report: &Report,
        policy: &OutlierPolicy,
    ) -> Option<OutlierChange> {
        if policy.ejection().is_some() {
            match policy.evidence(report) {
                Some(true) => self.successes = self.successes.saturating_add(1),
                Some(false) => self.failures = self.failures.saturating_add(1),
                None => {}
            }
        }
        if !policy.quarantines(report) {
            return None;
        }
        let was_out = self.standing(now) == Standing::Suspect;
        self.quarantined_until = self.quarantined_until.max(now.after(policy.quarantine()));
        if was_out { None } else { Some(OutlierChange::Quarantined) }
    }

    /// Books calls that were counted elsewhere since the last sweep, in atomics say.
    pub const fn add(&mut self, successes: u32, failures: u32) {
        self.successes = self.successes.saturating_add(successes);
        self.failures = self.failures.saturating_add(failures);
    }

    /// Whether the target is in the rotation at `now`, as far as its calls know.
    ///
    /// Never [`Down`](Standing::Down): that is a health check's to say.
    pub fn standing(&self, now: Instant) -> Standing {
        if now < self.quarantined_until || now < self.ejected_until {
            Standing::Suspect
        } else {
            Standing::Up
        }
    }

    /// Until when it is out; an instant that has passed if it is not.
    pub fn until(&self) -> Instant {
        self.quarantined_until.max(self.ejected_until)
    }

    /// How many ejections long the last ejection was, less one for each quiet interval since; the
    /// next is one longer.
    pub const fn ejections(&self) -> u8 {
        self.ejections
    }
}

const _: () = assert!(size_of::<Outlier>() <= 32);
