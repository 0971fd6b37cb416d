//! This file knows how long a breaker stays open, and for how long a trial is waited for.

use super::BreakerPolicy;
use crate::num::{ONE_Q16, grown_q16, times_q16};
use crate::rng::{mix, scale};
use crate::{Deadline, Instant, Micros, Trip};

impl<T: Trip> BreakerPolicy<T> {
    /// How long the opening that begins `epoch` lasts, after `reopenings` in a row.
    pub(in crate::breaker) fn open_time(&self, epoch: u32, reopenings: u8) -> Micros {
        (self.open_time.0)(self, epoch, reopenings)
    }

    pub(super) const fn constant(&self, _epoch: u32, _reopenings: u8) -> Micros {
        self.open_for
    }

    pub(super) fn varying(&self, epoch: u32, reopenings: u8) -> Micros {
        let cap = self.max_open.as_micros();
        let mut span = self.open_for.as_micros().min(cap);
        let mut left = if self.growth > ONE_Q16 { reopenings } else { 0 };
        while left > 0 && span < cap && span > 0 {
            left = left.saturating_sub(1);
            span = grown_q16(span, self.growth).min(cap);
        }
        if self.jitter == 0 {
            return Micros::from_micros(span);
        }
        let side = times_q16(span, self.jitter);
        let (low, high) = (span.wrapping_sub(side), span.wrapping_add(side).min(cap));
        let random = mix(self.seed ^ mix(epoch));
        let width = high.wrapping_sub(low).wrapping_add(1);
        Micros::from_micros(low.wrapping_add(scale(width, random)))
    }

    /// Until when an attempt admitted at `now` with this `lease` is waited for: to its deadline,
    /// or for the open time (a second at least) when it has none.
    pub(crate) const fn lease_end(&self, now: Instant, lease: Deadline) -> Instant {
        if lease.is_none() { now.after(self.lease_for) } else { lease.instant() }
    }
}
