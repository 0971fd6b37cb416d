//! This file knows which attempts speak against their target, and for how long.

use core::time::Duration;

use super::EjectionPolicy;
use crate::{Code, CodeSet, Invalid, Micros, Report};

/// When calls take a target out of the rotation.
///
/// Default: `UNAVAILABLE` and `DEADLINE_EXCEEDED` quarantine a target for 5 s (grpc-client-kit's numbers),
/// and nobody is ejected.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{EjectionPolicy, OutlierPolicy, checked};
///
/// const BOTH: OutlierPolicy = OutlierPolicy::DEFAULT.with_ejection(EjectionPolicy::DEFAULT);
/// const EJECTION: OutlierPolicy = OutlierPolicy::OFF.with_ejection(EjectionPolicy::DEFAULT);
/// const BRIEF: OutlierPolicy =
///     checked!(OutlierPolicy::DEFAULT.with_quarantine(Duration::from_secs(1)));
/// assert_eq!(BRIEF.quarantine().as_duration(), Duration::from_secs(1));
/// # let _ = (BOTH, EJECTION);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OutlierPolicy {
    quarantine: Micros,
    ejection: Option<EjectionPolicy>,
}

impl OutlierPolicy {
    /// 5 s of quarantine, no ejection.
    pub const DEFAULT: Self = Self { quarantine: Micros::from_millis(5_000), ejection: None };

    /// Neither.
    pub const OFF: Self = Self { quarantine: Micros::ZERO, ejection: None };

    /// With this long a quarantine. Zero switches it off.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_quarantine(mut self, span: Duration) -> Result<Self, Invalid> {
        self.quarantine = match Micros::setting("balancing.quarantine", span) {
            Ok(span) => span,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With ejection.
    pub const fn with_ejection(mut self, ejection: EjectionPolicy) -> Self {
        self.ejection = Some(ejection);
        self
    }

    /// How long a quarantine lasts; zero if there is none.
    pub const fn quarantine(&self) -> Micros {
        self.quarantine
    }

    /// The rules of ejection, if there are any.
    pub const fn ejection(&self) -> Option<&EjectionPolicy> {
        self.ejection.as_ref()
    }

    /// Whether [`Outlier::record`](crate::Outlier::record) does anything with this report.
    ///
    /// Ask before taking a lock: with the defaults, no success needs one.
    pub fn minds(&self, report: &Report) -> bool {
        self.quarantines(report) || (self.ejection.is_some() && self.evidence(report).is_some())
    }

    /// Whether this end of an attempt quarantines its target.
    pub const fn quarantines(&self, report: &Report) -> bool {
        report.counts() && UNREACHABLE.contains(report.outcome.code) && !self.quarantine.is_zero()
    }

    /// Whether an attempt counts for or against its target when targets are compared.
    ///
    /// What is no failure to a breaker by default (`NOT_FOUND`, say) is none here, and no success
    /// either. A breaker's own [`with_failures`](crate::BreakerPolicy::with_failures) does not reach
    /// here: targets are compared with each other, whatever each method's breaker counts.
    pub fn evidence(&self, report: &Report) -> Option<bool> {
        let code = report.outcome.code;
        match (report.counts(), code) {
            (false, _) => None,
            (true, Code::Ok) => Some(true),
            (true, _) => CodeSet::FAILURES.contains(code).then_some(false),
        }
    }
}

impl Default for OutlierPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The codes of an attempt that did not reach its target, or heard nothing from it.
const UNREACHABLE: CodeSet = CodeSet::of(&[Code::Unavailable, Code::DeadlineExceeded]);
