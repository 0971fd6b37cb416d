//! This file knows Finagle's `RetryBudget`, which tower and linkerd took over.
//!
//! Over a sliding window of `ttl` a client may retry a share of its requests, and besides that
//! `floor` retries a second whatever happens. Deposits leave the window with their age, and so do
//! withdrawals (Finagle's `LeakyTokenBucket`; ten slices, as there).

use super::Ring;

/// A share of the requests of a window, and a floor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Finagle {
    /// Retries for each request, in percent; 20 by default everywhere.
    pub percent: u32,
    /// Retries a second that are free, per client; 10 by default everywhere.
    pub floor: u32,
    /// The window, in microseconds; 10 s by default everywhere.
    pub ttl: u64,
}

/// What one client remembers for [`Finagle`].
#[derive(Clone, Debug)]
pub struct FinagleMemory(Ring<10>);

impl FinagleMemory {
    /// Nothing yet.
    pub const EMPTY: Self = Self(Ring::EMPTY);

    /// A call has started.
    pub fn started(&mut self, now: u64, rule: &Finagle) {
        self.0.add(now, rule.slice(), (rule.percent * 10) as i32);
    }

    /// Whether a retry may be made; pays for it.
    pub fn allow(&mut self, now: u64, rule: &Finagle) -> bool {
        let reserve = u64::from(rule.floor) * (rule.ttl / 1_000);
        let allowed = self.0.sum(now, rule.slice()) + reserve as i64 >= i64::from(TOKEN);
        if allowed {
            self.0.add(now, rule.slice(), -TOKEN);
        }
        allowed
    }
}

impl Finagle {
    const fn slice(&self) -> u64 {
        self.ttl / 10
    }
}

const TOKEN: i32 = 1_000;
