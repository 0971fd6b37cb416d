//! This file knows the settings of health checking.

use core::time::Duration;

use crate::{Deadline, Instant, Invalid, Micros};

/// How often a target is asked for its health, and how many answers flip the verdict.
///
/// | setting | default | note |
/// |---|---|---|
/// | `check_interval` | 30 s | from the end of one check to the start of the next |
/// | `timeout` | 5 s | longer than the interval is fine: a check is never overtaken by the next |
/// | `max_backoff` | 300 s | below the interval it has no effect |
/// | `rise`, `fall` | 1, 1 | at 255 it takes 255 equal answers in a row |
/// | `unimplemented` | healthy | |
///
/// The numbers are those of grpc-client-kit, `unimplemented` is gRFC A17's.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{HealthPolicy, checked};
///
/// // A flapping target has to answer well twice and badly three times.
/// const CALM: HealthPolicy = checked!(HealthPolicy::DEFAULT.with_counts(2, 3));
/// assert_eq!(CALM.interval().as_duration(), Duration::from_secs(30));
///
/// let refused = HealthPolicy::DEFAULT.with_interval(Duration::ZERO).unwrap_err();
/// assert_eq!(refused.field(), "health.check_interval");
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HealthPolicy {
    interval: Micros,
    timeout: Micros,
    max_backoff: Micros,
    rise: u8,
    fall: u8,
    unimplemented: Unimplemented,
}

/// What it says about a target that it has no health service.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Unimplemented {
    /// It is healthy: it answered, and nobody ever promised a health service (gRFC A17). The
    /// default, because the other choice removes every such backend.
    #[default]
    Healthy,
    /// It is not healthy, as in grpc-client-kit.
    Unhealthy,
}

impl HealthPolicy {
    /// Every 30 s, 5 s for an answer, at most 300 s between checks, one answer flips.
    pub const DEFAULT: Self = Self {
        interval: Micros::from_millis(30_000),
        timeout: Micros::from_millis(5_000),
        max_backoff: Micros::from_millis(300_000),
        rise: 1,
        fall: 1,
        unimplemented: Unimplemented::Healthy,
    };

    /// With this span between the end of a check and the start of the next.
    ///
    /// # Errors
    ///
    /// Refuses zero, which would check in a loop, and 2^48 µs (8.9 years) or more.
    pub const fn with_interval(mut self, span: Duration) -> Result<Self, Invalid> {
        self.interval = match Micros::positive_setting("health.check_interval", span) {
            Ok(span) => span,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With this much time for an answer; for a watch, for its first message.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub const fn with_timeout(mut self, span: Duration) -> Result<Self, Invalid> {
        self.timeout = match Micros::positive_setting("health.timeout", span) {
            Ok(span) => span,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With this longest span between two checks of a target that does not answer well.
    ///
    /// One below the interval has no effect: a target that fails is never checked more often than
    /// one that is well.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_max_backoff(mut self, span: Duration) -> Result<Self, Invalid> {
        self.max_backoff = match Micros::setting("health.max_backoff", span) {
            Ok(span) => span,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With `rise` good answers in a row before an unhealthy target is healthy again, and `fall`
    /// bad ones before a healthy one is not.
    ///
    /// The very first answer decides alone. A watch takes every message at its word: a server
    /// reports a change once, and would be waited on for ever.
    ///
    /// # Errors
    ///
    /// Refuses 0: a verdict would need no evidence.
    pub const fn with_counts(mut self, rise: u8, fall: u8) -> Result<Self, Invalid> {
        const RULE: &str = "must be 1 or more equal answers in a row";
        if rise == 0 {
            return Err(Invalid::new("health.rise", 0, "", RULE));
        }
        if fall == 0 {
            return Err(Invalid::new("health.fall", 0, "", RULE));
        }
        self.rise = rise;
        self.fall = fall;
        Ok(self)
    }

    /// With this reading of a missing health service.
    pub const fn with_unimplemented(mut self, unimplemented: Unimplemented) -> Self {
        self.unimplemented = unimplemented;
        self
    }

    /// The span between two checks of a healthy target.
    pub const fn interval(&self) -> Micros {
        self.interval
    }

    /// How long an answer is waited for.
    pub const fn timeout(&self) -> Micros {
        self.timeout
    }

    /// The longest span between two checks, if it is longer than the interval.
    pub const fn max_backoff(&self) -> Micros {
        self.max_backoff
    }

    /// What a missing health service means.
    pub const fn unimplemented(&self) -> Unimplemented {
        self.unimplemented
    }

    /// How many good answers in a row make an unhealthy target healthy.
    pub const fn rise(&self) -> u8 {
        self.rise
    }

    /// How many bad answers in a row make a healthy target unhealthy.
    pub const fn fall(&self) -> u8 {
        self.fall
    }

    /// When a check that starts at `now` is given up.
    pub const fn deadline(&self, now: Instant) -> Deadline {
        Deadline::at(now.after(self.timeout))
    }

    /// How many answers in a row flip a bit to `healthy`.
    pub(super) const fn count_to(&self, healthy: bool) -> u8 {
        if healthy { self.rise } else { self.fall }
    }

    /// The wait after this many bad answers in a row.
    pub(super) const fn pause(&self, failures: u32) -> Micros {
        let interval = self.interval.as_micros();
        let doublings = failures.saturating_sub(1);
        // Where bits would be shifted out it is longer than any setting.
        let grown = if doublings >= interval.leading_zeros() {
            Micros::MAX
        } else {
            Micros::from_micros(interval.wrapping_shl(doublings))
        };
        self.interval.longer(grown.shorter(self.max_backoff))
    }
}

impl Default for HealthPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
