//! This file knows how threads share what they learn about a method's latency.

use core::time::Duration;
use std::sync::{Mutex, TryLockError};

use evenkeel_tokio::core::{Micros, RunningQuantile};
use portable_atomic::{AtomicU64, Ordering};

use super::HedgeDelay;

/// The delay that follows from the latencies seen so far. A call reads one word; the samples are
/// behind a lock that nobody waits for.
#[derive(Debug)]
pub(super) struct Latency {
    seen: Mutex<RunningQuantile>,
    delay: AtomicU64,
    least: Micros,
    most: Micros,
}

impl Latency {
    /// `None` where nothing is to be measured.
    pub(super) fn of(delay: HedgeDelay) -> Option<Self> {
        let HedgeDelay::Quantile { thousandths, min, max, until_known } = delay else {
            return None;
        };
        // Never refused: the policy was checked.
        let seen = RunningQuantile::new(thousandths).ok()?;
        Some(Self {
            seen: Mutex::new(seen),
            delay: AtomicU64::new(micros(until_known).as_micros()),
            least: micros(min),
            most: micros(max),
        })
    }

    pub(super) fn delay(&self) -> Micros {
        Micros::from_micros(self.delay.load(Ordering::Relaxed))
    }

    /// Counts an attempt that took so long. Two at the same moment are one too many, and one of
    /// them goes uncounted: which, has nothing to do with how long it took.
    pub(super) fn record(&self, took: Micros) {
        let mut seen = match self.seen.try_lock() {
            Ok(seen) => seen,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        seen.record(took);
        if let Some(value) = seen.value() {
            let delay = value.longer(self.least).shorter(self.most);
            self.delay.store(delay.as_micros(), Ordering::Relaxed);
        }
    }
}

const fn micros(span: Duration) -> Micros {
    Micros::from_duration(span)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use evenkeel_tokio::core::Micros;

    use super::Latency;
    use crate::HedgeDelay;

    const QUANTILE: HedgeDelay = HedgeDelay::Quantile {
        thousandths: 900,
        min: Duration::from_millis(5),
        max: Duration::from_millis(50),
        until_known: Duration::from_millis(200),
    };

    fn after(samples: usize, millis: u64) -> Micros {
        let latency = Latency::of(QUANTILE).unwrap();
        (0..samples).for_each(|_| latency.record(Micros::from_millis(millis)));
        latency.delay()
    }

    #[test]
    fn the_delay_is_the_quantile_within_its_limits_once_it_is_known() {
        assert_eq!(after(99, 20), Micros::from_millis(200));
        let known = after(100, 20);
        assert!(known >= Micros::from_millis(20) && known <= Micros::from_micros(22_500));
        assert_eq!(after(100, 1), Micros::from_millis(5));
        assert_eq!(after(100, 900), Micros::from_millis(50));
        assert!(Latency::of(HedgeDelay::Fixed(Duration::ZERO)).is_none());
    }

    #[test]
    fn threads_share_it() {
        let latency = Latency::of(QUANTILE).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| latency.record(Micros::from_millis(20))));
            }
        });
        assert!(latency.delay() >= Micros::from_millis(20));
        assert!(latency.delay() <= Micros::from_micros(22_500));
    }
}
