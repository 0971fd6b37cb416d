//! This file knows one target that is asked for its health in virtual time, and what was seen.

use evenkeel_core::{Answer, Health, HealthPolicy, Instant, Micros};

use crate::policies::{millis, ms};

pub(crate) use Answer::{Failed as ERR, NotServing as NOT, Serving as OK, Unimplemented as NONE};

#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) policy: HealthPolicy,
    pub(crate) health: Health,
    pub(crate) now: Instant,
    /// When it was asked, and when its bit was set to what, in milliseconds.
    pub(crate) asked: Vec<u64>,
    pub(crate) changed: Vec<(u64, bool)>,
}

impl Probed {
    pub(crate) fn new(policy: HealthPolicy) -> Self {
        let (asked, changed) = (Vec::new(), Vec::new());
        Self { policy, health: Health::new(), now: Instant::ZERO, asked, changed }
    }

    /// Asks for as long as there are answers, each of which takes this many milliseconds.
    pub(crate) fn ask(&mut self, answers: &[(u64, Answer)]) {
        for (takes, answer) in answers {
            self.now = self.now.max(self.health.due());
            self.asked.push(self.now.as_micros() / 1_000);
            self.now = self.now + ms(*takes).shorter(self.policy.timeout());
            self.record(*answer);
        }
    }

    pub(crate) fn record(&mut self, answer: Answer) {
        if let Some(change) = self.health.record(self.now, answer, &self.policy) {
            self.changed.push((self.now.as_micros() / 1_000, change.is_healthy()));
        }
    }

    /// The spans between the ends of checks and the starts of the next, if checks take no time.
    pub(crate) fn gaps(&self) -> Vec<u64> {
        self.asked.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// Asks every `interval`, with at most `max_backoff` between, both in milliseconds.
pub(crate) fn every(interval: u64, max_backoff: u64) -> HealthPolicy {
    let policy = HealthPolicy::DEFAULT.with_interval(millis(interval)).unwrap();
    policy.with_max_backoff(millis(max_backoff)).unwrap()
}

/// `count` times this answer, at once.
pub(crate) fn times(count: usize, answer: Answer) -> Vec<(u64, Answer)> {
    vec![(0, answer); count]
}

pub(crate) fn seconds(seconds: u64) -> Micros {
    ms(seconds * 1_000)
}
