//! This file knows how long most calls take: a running quantile in fixed memory.
//!
//! Why not the last thousand latencies, sorted? They cost ten times the memory and a sort. Why not
//! the five markers of P² (Jain and Chlamtac, 1985)? They divide at every sample, and how far they
//! are off depends on what comes. Here latencies are counted in buckets whose width grows with
//! them, as in an HDR histogram, so that the error is a share of the value and known beforehand.

use core::fmt;

use crate::num::{share_to_q16, times_q16, widen};
use crate::{Invalid, Micros};

/// The latency that a given share of calls does not exceed, over about the last thousand.
///
/// Below 2^28 µs (4.5 minutes) what it answers is never shorter than the exact quantile, and at most
/// an eighth longer: whoever waits that long before sending a second request sends no more of them
/// than was meant. Latencies beyond all count as that long. The rank of the exact one is true to one
/// sample, and to one in a thousand once old samples have faded.
///
/// Old samples fade: when 512 have come, everything counted so far counts half. A change for good
/// is therefore half believed after 512 samples, and a spike is forgotten after a few thousand.
///
/// 856 bytes. A sample moves a few counters, the 512th all of them, and nothing is divided.
///
/// ```
/// use evenkeel_core::{Micros, RunningQuantile};
///
/// let mut p95 = RunningQuantile::new(950).unwrap();
/// assert_eq!(p95.value(), None, "one sample is no distribution");
/// for call in 1..=1_000 {
///     // Nine in ten take 10 ms, the others 300 ms.
///     p95.record(Micros::from_millis(if call % 10 == 0 { 300 } else { 10 }));
/// }
/// let p95 = p95.value().unwrap();
/// assert!(p95 >= Micros::from_millis(300) && p95 <= Micros::from_millis(338));
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct RunningQuantile {
    counts: [u32; BUCKETS],
    total: u32,
    /// The bucket the quantile is in, and what is counted in those before it.
    at: usize,
    before: u32,
    /// Samples until everything counts half.
    fresh: u16,
    /// Samples until it may be trusted.
    missing: u16,
    share: u32,
}

impl RunningQuantile {
    /// Of this share of the calls, in thousandths: 950 is the 95th percentile.
    ///
    /// # Errors
    ///
    /// Refuses less than 500, because half of the calls would be slow, and more than 990, because
    /// among a thousand samples too few are slower than that.
    pub const fn new(thousandths: u16) -> Result<Self, Invalid> {
        if thousandths < 500 || thousandths > 990 {
            let rule = "must be 500 to 990 thousandths";
            return Err(Invalid::new("quantile", crate::num::widen16(thousandths), " ‰", rule));
        }
        Ok(Self {
            counts: [0; BUCKETS],
            total: 0,
            at: 0,
            before: 0,
            fresh: HALF_LIFE,
            missing: KNOWN_AFTER,
            share: share_to_q16(thousandths),
        })
    }

    /// Counts a call that took so long.
    pub fn record(&mut self, took: Micros) {
        let bucket = bucket_of(took);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(ONE);
        }
        self.total = self.total.saturating_add(ONE);
        if bucket < self.at {
            self.before = self.before.saturating_add(ONE);
        }
        self.missing = self.missing.saturating_sub(1);
        self.fresh = self.fresh.saturating_sub(1);
        if self.fresh == 0 {
            self.fade();
        }
        self.settle();
    }

    /// The quantile; `None` before the hundredth sample.
    pub fn value(&self) -> Option<Micros> {
        (self.missing == 0).then(|| end_of(self.at))
    }

    /// Everything counts half from here on.
    fn fade(&mut self) {
        self.fresh = HALF_LIFE;
        self.total = 0;
        self.before = 0;
        self.at = 0;
        for count in &mut self.counts {
            *count >>= 1;
            self.total = self.total.saturating_add(*count);
        }
    }

    /// Moves on to the first bucket up to which the share is counted.
    fn settle(&mut self) {
        let due = times_q16(widen(self.total), self.share).max(1);
        while self.at > 0 && widen(self.before) >= due {
            self.at = self.at.wrapping_sub(1);
            self.before = self.before.saturating_sub(self.count(self.at));
        }
        while self.at < LAST {
            let through = self.before.saturating_add(self.count(self.at));
            if widen(through) >= due {
                return;
            }
            self.before = through;
            self.at = self.at.wrapping_add(1);
        }
    }

    fn count(&self, bucket: usize) -> u32 {
        self.counts.get(bucket).copied().unwrap_or(0)
    }
}

impl fmt::Debug for RunningQuantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningQuantile").field("value", &self.value()).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for RunningQuantile {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "RunningQuantile({})", self.value());
    }
}

/// The bucket of a latency: up to 8 µs one for each microsecond, and from there on eight for each
/// doubling.
#[expect(clippy::as_conversions, reason = "`From` is not const; both values are below BUCKETS")]
const fn bucket_of(took: Micros) -> usize {
    let took = if took.as_micros() < LONGEST { took.as_micros() } else { LONGEST - 1 };
    let shift = (63 - SPLIT).saturating_sub((took | 1).leading_zeros());
    (shift.wrapping_shl(SPLIT) as usize).wrapping_add(took.wrapping_shr(shift) as usize)
}

/// The longest latency of a bucket.
#[expect(clippy::as_conversions, reason = "`From` is not const; a bucket's number is small")]
const fn end_of(bucket: usize) -> Micros {
    let shift = bucket.wrapping_shr(SPLIT).saturating_sub(1) as u32;
    let start = (bucket as u64).wrapping_sub(shift.wrapping_shl(SPLIT) as u64);
    Micros::from_micros(start.wrapping_add(1).wrapping_shl(shift).wrapping_sub(1))
}

/// Each doubling has 2 to the power of this many buckets, which bounds the error to an eighth.
const SPLIT: u32 = 3;

/// Where latencies stop being told apart.
const LONGEST: u64 = 1 << 28;

const BUCKETS: usize = bucket_of(Micros::MAX) + 1;
const LAST: usize = BUCKETS - 1;

/// What one sample counts. Halved eight times it is gone, so that what is lost to rounding is never
/// more than one sample in 256 for a bucket.
const ONE: u32 = 256;

/// After so many samples all before count half.
const HALF_LIFE: u16 = 512;

/// Five samples are then beyond the 95th percentile, and one beyond the 99th.
const KNOWN_AFTER: u16 = 100;

const _: () = assert!(size_of::<RunningQuantile>() <= 856, "it is paid for per method");

#[cfg(test)]
mod tests {
    use super::{BUCKETS, LAST, LONGEST, bucket_of, end_of};
    use crate::Micros;

    #[test]
    fn buckets_meet_and_are_an_eighth_wide_at_most() {
        assert_eq!(end_of(0), Micros::ZERO);
        for bucket in 1..BUCKETS {
            let (first, last) = (end_of(bucket - 1).as_micros() + 1, end_of(bucket).as_micros());
            assert_eq!(bucket_of(Micros::from_micros(first)), bucket);
            assert_eq!(bucket_of(Micros::from_micros(last)), bucket);
            assert!(last - first <= first / 8, "{first} to {last}");
        }
        assert_eq!(end_of(LAST).as_micros(), LONGEST - 1);
        for took in [Micros::from_micros(LONGEST), Micros::MAX] {
            assert_eq!(bucket_of(took), LAST);
        }
    }
}
