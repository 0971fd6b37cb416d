//! This file knows how recordings write time: seconds in decimals, with the noise of a float.

use core::fmt;
use core::time::Duration;

use evenkeel_core::{Instant, Micros};
use serde::{Deserialize, Deserializer};

/// A recorded time or span, to the nearest microsecond.
///
/// The kit's wall clock leaves noise such as 1.599999905 for 1.6; rounding takes it away, and
/// what is left must then be equal. Signed, because a spent budget of the kit has less than
/// nothing left.
#[derive(Clone, Copy, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Seconds(i64);

impl Seconds {
    pub(super) const ZERO: Self = Self(0);

    pub(super) const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub(super) fn from_secs(secs: f64) -> Self {
        Self((secs * 1e6).round() as i64)
    }

    /// The span of a setting; `None` below zero, which no setting of ours can hold.
    pub(super) fn duration(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_micros)
    }

    /// The same span for a machine; nothing below zero.
    pub(super) fn micros(self) -> Micros {
        self.duration().map_or(Micros::ZERO, Micros::from_duration)
    }

    /// The instant this long after the clock's start.
    pub(super) fn instant(self) -> Instant {
        Instant::ZERO + self.micros()
    }

    pub(super) fn as_secs(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The kit's `initial × multiplier^n`, which it computes in floats.
    pub(super) fn times(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as i64)
    }
}

impl core::ops::Add for Seconds {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }
}

impl core::ops::Sub for Seconds {
    type Output = Self;

    fn sub(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }
}

impl From<Micros> for Seconds {
    fn from(span: Micros) -> Self {
        Self(i64::try_from(span.as_micros()).unwrap_or(i64::MAX))
    }
}

impl From<Instant> for Seconds {
    fn from(instant: Instant) -> Self {
        instant.since(Instant::ZERO).into()
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_secs(f64::deserialize(deserializer)?))
    }
}

impl fmt::Debug for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.as_secs())
    }
}
