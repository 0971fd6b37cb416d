//! This file knows the time window: the share of bad calls over the last seconds.

use core::time::Duration;

use super::{Bad, Trip, Verdict, check_percent, reaches};
use crate::num::{widen, widen_usize};
use crate::{Instant, Invalid, Micros};

/// Opens when the bad share of the calls in a sliding time window reaches a limit.
///
/// Default: 50 % over 10 s in 10 buckets, judged from 20 calls on. The window slides by one bucket
/// at a time, so it covers between `B − 1` and `B` bucket lengths.
///
/// A bucket counts 65,535 calls exactly; beyond that its counts are halved together, which keeps
/// its share and lowers its weight.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{Instant, Micros, TimeWindow, Trip, Verdict, checked};
///
/// const RULE: TimeWindow<10> = checked!(TimeWindow::new(Duration::from_secs(10), 2, 50));
/// let mut memory = TimeWindow::<10>::EMPTY;
/// let start = Instant::ZERO;
/// assert!(!RULE.count(&mut memory, start, Verdict::Failure));
/// // Eleven seconds later that failure is forgotten.
/// let later = start + Micros::from_millis(11_000);
/// assert!(!RULE.count(&mut memory, later, Verdict::Failure));
/// assert!(RULE.count(&mut memory, later, Verdict::Failure));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TimeWindow<const B: usize = 10> {
    bucket: Micros,
    min_calls: u32,
    percent: u8,
    bad: Bad,
}

impl TimeWindow<10> {
    /// 50 % over 10 s in ten buckets, at least 20 calls.
    pub const DEFAULT: Self =
        Self { bucket: Micros::from_millis(1_000), min_calls: 20, percent: 50, bad: Bad::Failures };
}

impl<const B: usize> TimeWindow<B> {
    /// Opens when at least `percent` of the calls of the last `window` were bad, judged once it
    /// holds `min_calls`.
    ///
    /// # Errors
    ///
    /// Refuses a window shorter than a microsecond per bucket or of 2^48 µs or more, fewer than
    /// 2 or more than 255 buckets, `min_calls` of 0 or above 32,767 for each bucket (what its
    /// counts are halved to: it might never be judged), and a share outside 1..=100.
    pub const fn new(window: Duration, min_calls: u32, percent: u8) -> Result<Self, Invalid> {
        if B < 2 || B > 255 {
            let rule = "must be from 2 to 255 buckets";
            return Err(Invalid::new("breaker.buckets", widen_usize(B), "", rule));
        }
        let window = match Micros::setting("breaker.window", window) {
            Ok(window) => window,
            Err(invalid) => return Err(invalid),
        };
        let Some(bucket @ 1..) = window.as_micros().checked_div(widen_usize(B)) else {
            let rule = "must be at least a microsecond per bucket";
            return Err(Invalid::new("breaker.window", window.as_micros(), " µs", rule));
        };
        if min_calls == 0 || widen(min_calls) > widen_usize(B).wrapping_mul(HALVED) {
            let rule = "must be from 1 to 32767 for each bucket";
            return Err(Invalid::new("breaker.min_calls", widen(min_calls), "", rule));
        }
        match check_percent(percent) {
            Ok(()) => Ok(Self {
                bucket: Micros::from_micros(bucket),
                min_calls,
                percent,
                bad: Bad::Failures,
            }),
            Err(invalid) => Err(invalid),
        }
    }

    /// The same window over other calls.
    pub const fn counting(mut self, bad: Bad) -> Self {
        self.bad = bad;
        self
    }

    /// How far it looks back: what was asked for, rounded down to a whole microsecond per bucket.
    pub const fn window(&self) -> Micros {
        Micros::from_micros(self.bucket.as_micros().wrapping_mul(widen_usize(B)))
    }

    /// From how many calls on it is judged.
    pub const fn min_calls(&self) -> u32 {
        self.min_calls
    }

    /// The share of bad calls that opens, in percent.
    pub const fn percent(&self) -> u8 {
        self.percent
    }

    /// Which calls are bad.
    pub const fn bad(&self) -> Bad {
        self.bad
    }
}

impl Default for TimeWindow<10> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What [`TimeWindow`] remembers: a ring of buckets.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TimeWindowMemory<const B: usize> {
    /// When the current bucket began; zero also before the first call.
    began: Instant,
    buckets: [Bucket; B],
    at: u8,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Bucket {
    calls: u16,
    bad: u16,
}

impl<const B: usize> TimeWindowMemory<B> {
    /// Moves on to the bucket `now` falls in; at most once around the ring.
    fn age(&mut self, now: Instant, bucket: Micros) {
        let mut steps = 0;
        while now >= self.began.after(bucket) && self.began < Instant::MAX {
            if steps == B {
                // Everything is forgotten: the rest of the idle time needs no steps.
                self.began = now;
                return;
            }
            steps = steps.saturating_add(1);
            self.began = self.began.after(bucket);
            self.at = self.at.saturating_add(1);
            if usize::from(self.at) >= B {
                self.at = 0;
            }
            if let Some(current) = self.buckets.get_mut(usize::from(self.at)) {
                *current = Bucket { calls: 0, bad: 0 };
            }
        }
    }

    fn push(&mut self, is_bad: bool) {
        let Some(bucket) = self.buckets.get_mut(usize::from(self.at)) else { return };
        if bucket.calls == u16::MAX {
            bucket.calls >>= 1;
            bucket.bad >>= 1;
        }
        bucket.calls = bucket.calls.saturating_add(1);
        if is_bad {
            bucket.bad = bucket.bad.saturating_add(1);
        }
    }

    fn sums(&self) -> (u32, u32) {
        let (mut calls, mut bad) = (0u32, 0u32);
        for bucket in &self.buckets {
            calls = calls.saturating_add(u32::from(bucket.calls));
            bad = bad.saturating_add(u32::from(bucket.bad));
        }
        (calls, bad)
    }
}

impl<const B: usize> Trip for TimeWindow<B> {
    type Memory = TimeWindowMemory<B>;
    const EMPTY: Self::Memory =
        TimeWindowMemory { began: Instant::ZERO, buckets: [Bucket { calls: 0, bad: 0 }; B], at: 0 };

    fn count(&self, memory: &mut Self::Memory, now: Instant, verdict: Verdict) -> bool {
        memory.age(now, self.bucket);
        let is_bad = self.bad.matches(verdict);
        memory.push(is_bad);
        if !is_bad {
            return false;
        }
        let (calls, bad) = memory.sums();
        calls >= self.min_calls && reaches(bad, calls, self.percent)
    }

    fn bad(memory: &Self::Memory) -> u16 {
        u16::try_from(memory.sums().1).unwrap_or(u16::MAX)
    }

    fn is_quiet(_memory: &Self::Memory) -> bool {
        false
    }
}

/// What is left of a full bucket.
const HALVED: u64 = 32_767;
