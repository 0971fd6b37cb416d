//! This file knows std's monotonic clock; the only one in this crate that reads it.

use core::cell::Cell;
use core::time::Duration;
use std::sync::LazyLock;
use std::time::Instant as StdInstant;

use evenkeel_core::{Clock, Instant, Micros};

use crate::Epoch;

/// std's monotonic clock. All of them share one [start](Self::epoch), so their readings can be
/// compared.
///
/// Whether time spent suspended counts is the platform's choice (on Linux it does not); a deadline
/// then ends later by the clock on the wall, and never earlier.
#[derive(Clone, Copy, Debug, Default)]
pub struct StdClock;

impl StdClock {
    /// Where its readings begin: an hour before the first of them, as far as the platform's clock
    /// reaches back.
    ///
    /// A clock of another crate that is made of std's instants measures from here too, as tokio's
    /// does: a breaker opened by one and a deadline read from one can then be asked by the other.
    /// The hour is for a runtime whose clock is paused: it may be older than the first reading.
    #[inline]
    pub fn epoch() -> &'static Epoch {
        &EPOCH
    }
}

impl Clock for StdClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate reads time")]
    #[inline]
    fn now(&self) -> Instant {
        let epoch = Self::epoch();
        epoch.reading(StdInstant::now())
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where this crate reads time")]
static EPOCH: LazyLock<Epoch> = LazyLock::new(|| {
    let now = StdInstant::now();
    Epoch::at(now.checked_sub(Duration::from_secs(3_600)).unwrap_or(now))
});

/// A clock that can also be waited on, by blocking the thread.
pub trait BlockingClock: Clock {
    /// Returns at `at` or later, never earlier. At [`Instant::MAX`] it need not return.
    fn sleep_until(&self, at: Instant);
}

impl BlockingClock for StdClock {
    fn sleep_until(&self, at: Instant) {
        loop {
            let left = at.since(self.now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(piece(left));
        }
    }
}

/// A clock that only moves when told to, or slept on: for tests that do not wait.
///
/// ```
/// use evenkeel_core::{Clock, Instant};
/// use evenkeel_std::{BlockingClock, ManualClock};
///
/// let clock = ManualClock::new();
/// clock.sleep_until(Instant::from_micros(5_000_000)); // returns at once
/// assert_eq!(clock.now(), Instant::from_micros(5_000_000));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now: Cell<Instant>,
}

impl ManualClock {
    /// A clock at [`Instant::ZERO`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves it on by `span`.
    pub fn advance(&self, span: Duration) {
        self.now.set(self.now.get() + Micros::from_duration(span));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.now.get()
    }
}

impl BlockingClock for ManualClock {
    fn sleep_until(&self, at: Instant) {
        self.now.set(self.now.get().max(at));
    }
}

/// What to sleep at once: platforms cut or refuse very long sleeps.
fn piece(left: Micros) -> Duration {
    left.as_duration().min(LONGEST_SLEEP)
}

const LONGEST_SLEEP: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::{Micros, piece};

    #[test]
    fn pieces_add_up_to_the_wait() {
        let day = Micros::from_millis(24 * 60 * 60 * 1_000);
        for wait in [1, day.as_micros() - 1, day.as_micros(), 400 * day.as_micros() + 7] {
            let mut left = Micros::from_micros(wait);
            let mut pieces = 0;
            while !left.is_zero() {
                assert!(piece(left) <= day.as_duration());
                left = left.minus(Micros::from_duration(piece(left)));
                pieces += 1;
            }
            assert_eq!(pieces, wait.div_ceil(day.as_micros()), "no piece of nothing");
        }
        assert_eq!(piece(Micros::MAX), day.as_duration());
    }
}
