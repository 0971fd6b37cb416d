//! This file knows how threads share a throttle.

use evenkeel_core::{CodeSet, Report, Throttle, ThrottlePolicy};

use crate::sync::{Mutex, lock};

/// A [`Throttle`] and its policy, shared by all calls to one upstream.
///
/// ```
/// use evenkeel_core::ThrottlePolicy;
/// use evenkeel_std::SharedThrottle;
///
/// let throttle = SharedThrottle::new(ThrottlePolicy::SUCCESS_REFILLED);
/// let granted = (0..100).filter(|_| throttle.allow()).count();
/// assert_eq!(granted, 10);
/// ```
#[derive(Debug)]
pub struct SharedThrottle {
    policy: ThrottlePolicy,
    plain: Mutex<Throttle>,
}

impl SharedThrottle {
    /// With all the tokens `policy` allows.
    pub fn new(policy: ThrottlePolicy) -> Self {
        Self { plain: Mutex::new(Throttle::full(&policy)), policy }
    }

    /// Books the end of an attempt, as [`Throttle::record`] does.
    pub fn record(&self, report: &Report, retryable: CodeSet) {
        lock(&self.plain).record(report, retryable, &self.policy);
    }

    /// Takes the token of one retry, as [`Throttle::allow`] does, and says whether there was one.
    pub fn allow(&self) -> bool {
        lock(&self.plain).allow(&self.policy)
    }

    /// What is left, in thousandths of a token.
    pub fn millitokens(&self) -> u32 {
        lock(&self.plain).millitokens()
    }
}
