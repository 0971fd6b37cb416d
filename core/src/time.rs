//! This file knows time: readings of a monotonic clock, spans, and deadlines. It never reads one.
//!
//! Why an own `Instant`? std's cannot be built from a number and does not exist without std;
//! embassy's has a tick rate fixed per program. A plain count of microseconds serves a server, a
//! microcontroller and a simulator alike, and 64 bits of it last 584,000 years. Everything here
//! saturates: there is no instant after [`Instant::MAX`] and no span below [`Micros::ZERO`].

use core::fmt;
use core::time::Duration;

use crate::Invalid;

/// A reading of a monotonic clock: microseconds since any fixed start, often boot.
///
/// ```
/// use evenkeel_core::{Instant, Micros};
///
/// let start = Instant::from_micros(1_000);
/// let later = start + Micros::from_millis(2);
/// assert_eq!(later.since(start), Micros::from_micros(2_000));
/// // A clock that went back has not moved.
/// assert_eq!(start.since(later), Micros::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Instant(u64);

impl Instant {
    /// The clock's start.
    pub const ZERO: Self = Self(0);
    /// Never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `micros` after the clock's start.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the clock's start.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The instant `span` later, [`MAX`](Self::MAX) if there is none.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub const fn after(self, span: Micros) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span since `earlier`; zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

impl core::ops::Add<Micros> for Instant {
    type Output = Self;

    fn add(self, span: Micros) -> Self {
        self.after(span)
    }
}

/// A span of time in microseconds. [`MAX`](Self::MAX) is "without end".
///
/// Policies take [`Duration`] and convert once; the machines compute in this, because dividing
/// seconds from nanoseconds costs a Cortex-M0 hundreds of instructions.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Micros(u64);

impl Micros {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Without end.
    pub const MAX: Self = Self(u64::MAX);
    /// Settings end below 2^48 µs, 8.9 years, so that growing them needs no wide multiplication.
    pub const SETTING_END: Self = Self(1 << 48);

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// A span of `millis` milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Rounds down to whole microseconds, except that what is not zero never becomes zero:
    /// a caller who allows 10 ns allows something.
    ///
    /// ```
    /// use core::time::Duration;
    /// use evenkeel_core::Micros;
    ///
    /// assert_eq!(Micros::from_duration(Duration::from_nanos(1_999)).as_micros(), 1);
    /// assert_eq!(Micros::from_duration(Duration::from_nanos(10)).as_micros(), 1);
    /// assert_eq!(Micros::from_duration(Duration::MAX), Micros::MAX);
    /// ```
    pub const fn from_duration(span: Duration) -> Self {
        let micros = span.as_micros();
        if micros == 0 && !span.is_zero() {
            return Self(1);
        }
        if micros >= u128::MAX >> 64 { Self::MAX } else { Self(low_bits(micros)) }
    }

    /// Converts a setting and refuses one of 2^48 µs or more.
    ///
    /// # Errors
    ///
    /// Names `field` when `span` is too long to have been meant.
    pub const fn setting(field: &'static str, span: Duration) -> Result<Self, Invalid> {
        let micros = Self::from_duration(span);
        if micros.0 >= Self::SETTING_END.0 {
            let rule = "must be less than 2^48 µs (8.9 years)";
            return Err(Invalid::new(field, micros.0, " µs", rule));
        }
        Ok(micros)
    }

    /// Like [`setting`](Self::setting), and refuses zero.
    ///
    /// # Errors
    ///
    /// Names `field` when `span` is zero or too long to have been meant.
    pub const fn positive_setting(field: &'static str, span: Duration) -> Result<Self, Invalid> {
        if span.is_zero() {
            return Err(Invalid::new(field, 0, " µs", "must be longer than zero"));
        }
        Self::setting(field, span)
    }

    /// The span in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The span as std and `core` know it.
    pub const fn as_duration(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// Whether nothing is left.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, [`MAX`](Self::MAX) at most.
    pub const fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    /// The difference, [`ZERO`](Self::ZERO) at least.
    pub const fn minus(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }

    /// The shorter of two spans.
    pub const fn shorter(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }

    /// The longer of two spans.
    pub const fn longer(self, other: Self) -> Self {
        if other.0 > self.0 { other } else { self }
    }
}

impl From<Micros> for Duration {
    fn from(span: Micros) -> Self {
        span.as_duration()
    }
}

/// Seconds with two decimals, the precision a person reads in an error; what would have none is in
/// milliseconds, or below one of them in microseconds.
impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1..1_000 => return write!(f, "{}us", self.0),
            1_000..10_000 => return write!(f, "{}.{}ms", self.0 / 1_000, self.0 % 1_000 / 100),
            _ => {}
        }
        let seconds = self.0 / 1_000_000;
        let hundredths = self.0 % 1_000_000 / 10_000;
        write!(f, "{seconds}.{hundredths:02}s")
    }
}

/// The instant from which on nothing may happen any more, or [`NONE`](Self::NONE).
///
/// Fixed once, absolute, and carried along; relative timeouts are derived at the last moment.
/// From the deadline's instant on it is over: at `now == deadline` nothing is left.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{Deadline, Instant, Micros};
///
/// let now = Instant::from_micros(500);
/// let deadline = Deadline::after(now, Duration::from_micros(100));
/// assert_eq!(deadline.remaining(now), Micros::from_micros(100));
/// assert!(deadline.is_over(Instant::from_micros(600)));
///
/// // Zero is not none.
/// assert!(Deadline::after(now, Duration::ZERO).is_over(now));
/// assert!(!Deadline::NONE.is_over(Instant::from_micros(u64::MAX - 1)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Deadline(Instant);

impl Deadline {
    /// No limit. Later than any other deadline.
    pub const NONE: Self = Self(Instant::MAX);

    /// A deadline at `instant`; at [`Instant::MAX`] it is [`NONE`](Self::NONE).
    pub const fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// A deadline `timeout` from `now`; beyond the clock's end it is [`NONE`](Self::NONE).
    pub const fn after(now: Instant, timeout: Duration) -> Self {
        Self(now.after(Micros::from_duration(timeout)))
    }

    /// The instant it falls on, [`Instant::MAX`] for none.
    pub const fn instant(self) -> Instant {
        self.0
    }

    /// Whether there is no limit.
    pub const fn is_none(self) -> bool {
        self.0.0 == u64::MAX
    }

    /// Whether nothing is left at `now`.
    pub const fn is_over(self, now: Instant) -> bool {
        now.0 >= self.0.0 && !self.is_none()
    }

    /// What is left at `now`: zero when over, [`Micros::MAX`] for none.
    pub const fn remaining(self, now: Instant) -> Micros {
        if self.is_none() { Micros::MAX } else { self.0.since(now) }
    }

    /// The earlier of two: a deadline is never widened.
    pub const fn earlier(self, other: Self) -> Self {
        if other.0.0 < self.0.0 { other } else { self }
    }
}

impl Default for Deadline {
    fn default() -> Self {
        Self::NONE
    }
}

/// A monotonic clock.
///
/// Only drivers hold one; every machine takes `now` as an argument. Readings round **down** and
/// timers round **up**: the other way round a machine is woken a tick early, answers "not yet",
/// and the driver spins until the tick turns over.
pub trait Clock {
    /// The current reading. Must not go back. A call, a link and the [`Health`](crate::Health) of a
    /// target treat one that does as standing still; a breaker, a table, a window, a health watch,
    /// an outlier and a budget take each reading as it is.
    ///
    /// A count that wraps goes back: one of microseconds in 32 bits does after 71 minutes, and every
    /// wait that was to end after that never ends. Extend it to 64 bits by counting the wraps.
    fn now(&self) -> Instant;
}

/// A clock that stands still, for tests and for code that has already read one.
impl Clock for Instant {
    fn now(&self) -> Instant {
        *self
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Instant {
        (**self).now()
    }
}

#[expect(clippy::as_conversions, reason = "`u64::try_from` is not const; the caller compared")]
const fn low_bits(micros: u128) -> u64 {
    micros as u64
}
