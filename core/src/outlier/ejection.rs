//! This file knows the settings of ejection, gRFC A50: when it is looked, how many go and for how long.

use core::time::Duration;

use super::{FailurePercentage, SuccessRate};
use crate::num::widen8to64;
use crate::{Invalid, Micros};

/// When a target is ejected, and for how long.
///
/// Every `interval` the targets are compared by what their calls came to since the last time.
/// With every ejection in a row a target stays out `base` longer, up to `max` or `base`, whichever
/// is longer; with every interval it is in and not ejected, it is `base` less again.
///
/// Default: gRFC A50's numbers, both rules on. A fleet below five targets, or one with little
/// traffic, ejects nobody: there is nothing to compare.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{EjectionPolicy, FailurePercentage, checked};
///
/// const BROKEN_ONLY: EjectionPolicy = checked!(
///     EjectionPolicy::DEFAULT
///         .without_success_rate()
///         .with_failure_percentage(checked!(FailurePercentage::new(50, 3, 20)))
///         .with_max_percent(34)
/// );
/// assert!(EjectionPolicy::DEFAULT.with_max_percent(101).is_err());
/// # let _ = (BROKEN_ONLY, Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EjectionPolicy {
    pub(super) interval: Micros,
    pub(super) base: Micros,
    pub(super) max: Micros,
    pub(super) max_percent: u8,
    pub(super) success_rate: Option<SuccessRate>,
    pub(super) failure_percentage: Option<FailurePercentage>,
}

impl EjectionPolicy {
    /// Every 10 s; out for 30 s more each time, up to 300 s; at most 10 % of the targets, but
    /// always one; by [`SuccessRate::DEFAULT`] and [`FailurePercentage::DEFAULT`].
    pub const DEFAULT: Self = Self {
        interval: Micros::from_millis(10_000),
        base: Micros::from_millis(30_000),
        max: Micros::from_millis(300_000),
        max_percent: 10,
        success_rate: Some(SuccessRate::DEFAULT),
        failure_percentage: Some(FailurePercentage::DEFAULT),
    };

    /// With this span between two comparisons.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub const fn with_interval(mut self, span: Duration) -> Result<Self, Invalid> {
        self.interval = match Micros::positive_setting("balancing.ejection.interval", span) {
            Ok(span) => span,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With ejections of `base` times their number in a row, up to `max` or `base`, whichever is
    /// longer.
    ///
    /// # Errors
    ///
    /// Refuses a `base` of zero, and either span at 2^48 µs (8.9 years) or more.
    pub const fn with_times(mut self, base: Duration, max: Duration) -> Result<Self, Invalid> {
        self.base = match Micros::positive_setting("balancing.ejection.base_time", base) {
            Ok(base) => base,
            Err(invalid) => return Err(invalid),
        };
        self.max = match Micros::setting("balancing.ejection.max_time", max) {
            Ok(max) => max,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With at most this share of the targets ejected at a time, and always one.
    ///
    /// Whatever the share, the last target that is up is never ejected.
    ///
    /// # Errors
    ///
    /// Refuses more than 100 %.
    pub const fn with_max_percent(mut self, percent: u8) -> Result<Self, Invalid> {
        if percent > 100 {
            let rule = "must be from 0 to 100 % of the targets";
            let value = widen8to64(percent);
            return Err(Invalid::new("balancing.ejection.max_percent", value, " %", rule));
        }
        self.max_percent = percent;
        Ok(self)
    }

    /// With this rule on how far a target's share of successes may lie below the others'.
    pub const fn with_success_rate(mut self, rule: SuccessRate) -> Self {
        self.success_rate = Some(rule);
        self
    }

    /// Without that rule.
    pub const fn without_success_rate(mut self) -> Self {
        self.success_rate = None;
        self
    }

    /// With this limit on a target's share of failures.
    pub const fn with_failure_percentage(mut self, rule: FailurePercentage) -> Self {
        self.failure_percentage = Some(rule);
        self
    }

    /// Without that limit.
    pub const fn without_failure_percentage(mut self) -> Self {
        self.failure_percentage = None;
        self
    }

    /// The span between two comparisons.
    pub const fn interval(&self) -> Micros {
        self.interval
    }

    /// How long the first ejection lasts, and how much longer than the one before it each other in a row.
    pub const fn base_time(&self) -> Micros {
        self.base
    }

    /// No ejection is longer, unless the first is.
    pub const fn max_time(&self) -> Micros {
        self.max
    }

    /// The largest share of the targets that is ejected at a time, in percent.
    pub const fn max_percent(&self) -> u8 {
        self.max_percent
    }

    /// The rule on shares of successes; `None` without it.
    pub const fn success_rate(&self) -> Option<&SuccessRate> {
        self.success_rate.as_ref()
    }

    /// The limit on shares of failures; `None` without it.
    pub const fn failure_percentage(&self) -> Option<&FailurePercentage> {
        self.failure_percentage.as_ref()
    }

    /// How long an ejection lasts that is the `ejections`-th in a row.
    pub const fn time(&self, ejections: u8) -> Micros {
        // Below 2^48 times 2^8.
        let grown = self.base.as_micros().wrapping_mul(widen8to64(ejections));
        Micros::from_micros(grown).shorter(self.base.longer(self.max))
    }
}

impl Default for EjectionPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
