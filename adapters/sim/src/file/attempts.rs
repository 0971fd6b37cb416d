//! This file knows how many attempts one call can come to at all: fewer than are configured where
//! nothing is tried again, or where the waits do not fit into the call's time.

use evenkeel_core::rng::Always;
use evenkeel_core::{Growth, Instant, Micros};

use crate::Policy;

impl Policy {
    /// The most attempts of one call: those of [`attempts`](Self::attempts) that start before its
    /// time is over when each fails at once and each wait is as short as its jitter allows; and one
    /// alone, where no code is tried again.
    ///
    /// Hedges need no code, and a measured delay is not known before: all of them are counted.
    pub fn possible_attempts(&self) -> u16 {
        let (call, most) = (&self.call, self.attempts());
        if call.hedge_after() < Micros::SETTING_END {
            return most;
        }
        if call.retry().codes().is_empty() {
            return 1;
        }
        let end = Instant::ZERO.after(call.timeout());
        let (mut growth, mut at) = (Growth::START, Instant::ZERO);
        for attempts in 1..most {
            at = at.after(call.retry().backoff().next_delay(&mut growth, &mut Always(0)));
            if at >= end {
                return attempts;
            }
        }
        most
    }
}
