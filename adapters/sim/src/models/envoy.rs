//! This file knows Envoy's retry budget: retries under way as a share of requests under way.
//!
//! `retry_budget` of a cluster's circuit breakers: a retry is allowed while fewer than
//! `max(percent × active requests, min)` are under way, one waiting for its backoff included.

/// A share of the requests under way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Envoy {
    /// Retries under way, in percent of requests under way; 20 by default.
    pub percent: u32,
    /// Retries under way that are always allowed, per client; 3 by default.
    pub min: u32,
    /// Whether a limit of 1.4 is one, as in Envoy itself, or lets a second retry start while one
    /// is under way. With seven calls a second and client the two are 110 s of outage apart.
    pub rounds_down: bool,
}

/// What one client has under way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct EnvoyMemory {
    active: u32,
    retrying: u32,
}

impl EnvoyMemory {
    /// A call has started.
    pub const fn started(&mut self) {
        self.active = self.active.saturating_add(1);
    }

    /// A call has ended, or its retry has failed: it holds no retry any more.
    pub const fn release(&mut self, holds_retry: &mut bool) {
        if *holds_retry {
            self.retrying = self.retrying.saturating_sub(1);
            *holds_retry = false;
        }
    }

    /// A call has ended.
    pub const fn ended(&mut self, holds_retry: &mut bool) {
        self.release(holds_retry);
        self.active = self.active.saturating_sub(1);
    }

    /// Whether a call may retry; it then holds the retry until it ends or fails again.
    pub fn allow(&mut self, rule: &Envoy, holds_retry: &mut bool) -> bool {
        self.release(holds_retry);
        let hundredths = u64::from(self.active) * u64::from(rule.percent);
        let share = if rule.rounds_down { hundredths / 100 } else { hundredths.div_ceil(100) };
        let limit = share.max(rule.min.into());
        if u64::from(self.retrying) < limit {
            self.retrying += 1;
            *holds_retry = true;
        }
        *holds_retry
    }
}
