//! This file knows the retry budget that every request refills, whether it succeeds or not.
//!
//! M. Brooker's `retry_sim` ("Fixing retries with token buckets and circuit breakers", 2022) and,
//! without its window, Finagle's deposit. Thousandths of a token, in integers.

/// A bucket of retries that each call adds to when it starts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Requests {
    /// The most that can be saved up, in thousandths.
    pub capacity: u32,
    /// What it holds at first, in thousandths.
    pub start: u32,
    /// What each call adds, in thousandths: 100 is "10 % of requests".
    pub ratio: u32,
}

/// What one client has left of [`Requests`], in thousandths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RequestsMemory(u32);

impl RequestsMemory {
    /// As `rule` starts.
    pub const fn new(rule: &Requests) -> Self {
        Self(rule.start)
    }

    /// A call has started.
    pub fn started(&mut self, rule: &Requests) {
        self.0 = self.0.saturating_add(rule.ratio).min(rule.capacity);
    }

    /// Whether a retry may be made; pays for it.
    pub const fn allow(&mut self) -> bool {
        let paid = self.0.checked_sub(TOKEN);
        if let Some(left) = paid {
            self.0 = left;
        }
        paid.is_some()
    }
}

const TOKEN: u32 = 1_000;
