//! This file knows how far an instant of std's clock is from a fixed one, in microseconds.
//!
//! Every call reads the clock twice and every lookup once, and of what a reading takes only a third
//! is the system's: std subtracts instants out of line, in seconds and nanoseconds. It has no way to
//! take an instant apart, but an instant says what it consists of to whoever hashes it. That is no
//! promise, so it is tried out first, and where an instant says anything else it is measured.

use core::hash::{Hash, Hasher};
use core::time::Duration;
use std::time::Instant as StdInstant;

use evenkeel_core::Instant;

/// A fixed instant of std's clock, from which others are measured.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use evenkeel_std::Epoch;
///
/// let start = Instant::now();
/// let epoch = Epoch::at(start);
/// let reading = epoch.reading(start + Duration::from_micros(70));
/// assert_eq!(reading.as_micros(), 70);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    start: StdInstant,
    /// What `start` says it is, in µs, where instants speak the truth.
    said: Option<u64>,
}

impl Epoch {
    /// Measures from `start`, or from less than a microsecond before it.
    pub fn at(start: StdInstant) -> Self {
        if !SPANS.iter().all(|span| Parts::tell(start, *span)) {
            return Self { start, said: None };
        }
        // Where its microsecond begins, so that no reading is rounded twice.
        let parts = Parts::of(start);
        let into = Duration::from_nanos((parts.nanos % 1_000).into());
        let start = start.checked_sub(into).unwrap_or(start);
        Self { start, said: Some(parts.micros()) }
    }

    /// Where it measures from.
    pub const fn start(&self) -> StdInstant {
        self.start
    }

    /// How far `at` is from it, rounded down to a microsecond; [`Instant::ZERO`] before it.
    #[inline]
    pub fn reading(&self, at: StdInstant) -> Instant {
        let Some(start) = self.said else { return self.measured(at) };
        let since = Parts::of(at).micros().wrapping_sub(start);
        Instant::from_micros(since.cast_signed().max(0).cast_unsigned())
    }

    #[cold]
    fn measured(&self, at: StdInstant) -> Instant {
        let since = at.saturating_duration_since(self.start).as_micros();
        Instant::from_micros(since.try_into().unwrap_or(u64::MAX))
    }
}

/// What an instant says of itself.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    seconds: u64,
    nanos: u32,
}

impl Parts {
    #[inline]
    fn of(instant: StdInstant) -> Self {
        let mut parts = Self::default();
        instant.hash(&mut parts);
        parts
    }

    /// Also right, in the difference of two, where the seconds are below zero.
    const fn micros(self) -> u64 {
        self.seconds.wrapping_mul(1_000_000).wrapping_add((self.nanos / 1_000) as u64)
    }

    /// Whether `start` and the instant `span` later say that they are so far apart.
    fn tell(start: StdInstant, span: Duration) -> bool {
        let Some(end) = start.checked_add(span) else { return false };
        let nanos = |parts: Self| {
            i128::from(parts.seconds.cast_signed()) * SECOND + i128::from(parts.nanos)
        };
        let (start, end) = (Self::of(start), Self::of(end));
        i128::from(start.nanos.max(end.nanos)) < SECOND
            && u128::try_from(nanos(end) - nanos(start)) == Ok(span.as_nanos())
    }
}

impl Hasher for Parts {
    #[inline]
    fn write_u64(&mut self, seconds: u64) {
        self.seconds = seconds;
    }

    #[inline]
    fn write_i64(&mut self, seconds: i64) {
        self.seconds = seconds.cast_unsigned();
    }

    #[inline]
    fn write_u32(&mut self, nanos: u32) {
        self.nanos = nanos;
    }

    fn write(&mut self, _bytes: &[u8]) {}

    fn finish(&self) -> u64 {
        0
    }
}

/// Spans in which each part changes alone, and both.
const SPANS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_nanos(999_999_999),
    Duration::from_secs(1),
    Duration::new(86_400, 500_000_001),
];
const SECOND: i128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::{Duration, Epoch, Instant, StdInstant};

    #[test]
    fn what_is_said_is_what_is_measured() {
        #[expect(clippy::disallowed_methods, reason = "any instant will do")]
        let now = StdInstant::now();
        let epoch = Epoch::at(now);
        let start = epoch.start();
        assert!(epoch.said.is_some(), "this platform's instants can be measured only");
        assert!(now - start < Duration::from_micros(1));
        for micros in [0, 1, 999_999, 1_000_000, 1_000_001, 86_400_000_000, 1 << 50] {
            let at = start + Duration::from_micros(micros);
            assert_eq!(epoch.reading(at), Instant::from_micros(micros));
            assert_eq!(epoch.measured(at), Instant::from_micros(micros));
            let almost = at + Duration::from_nanos(999);
            assert_eq!(epoch.reading(almost), epoch.measured(almost));
        }
    }

    #[test]
    fn before_it_is_its_start() {
        #[expect(clippy::disallowed_methods, reason = "any instant will do")]
        let epoch = Epoch::at(StdInstant::now() + Duration::from_secs(9));
        let before = epoch.start() - Duration::from_secs(5);
        assert_eq!(epoch.reading(before), Instant::ZERO);
        assert_eq!(Epoch { said: None, ..epoch }.reading(before), Instant::ZERO);
    }
}
