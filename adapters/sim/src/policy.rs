//! This file knows what a client of the simulated fleet runs.
//!
//! The machines are the core's own: [`CallPolicy`] with its backoff, the breakers, the throttle.
//! [`Guard::Adaptive`] and the budgets other than [`Budget::Shipped`] are models of what other
//! libraries do, and live apart in [`models`](crate::models).

use core::time::Duration;

#[cfg(feature = "command")]
use evenkeel_core::AnyOf;
use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Code, CodeSet, Invalid, Jitter, LastN, RetryPolicy,
    ThrottlePolicy, TimeWindow,
};

use crate::models::{Adaptive, Aws, Envoy, Finagle, MongoDb, Requests};

/// What one client does about failures; every client of a fleet has the same.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The call: attempts, codes, backoff, timeouts.
    pub call: CallPolicy,
    /// What keeps attempts from going out at all.
    pub guard: Guard,
    /// What bounds the retries of all calls together.
    pub budget: Budget,
    /// The spread of a breaker's open time, in thousandths; each client draws its own.
    pub open_jitter: u16,
}

/// What keeps attempts from going out. One for each client.
#[derive(Clone, Copy, Debug)]
pub enum Guard {
    /// Adaptive throttling: a model.
    Adaptive(Adaptive),
    /// The core's breaker, failures in a row.
    Consecutive(BreakerPolicy),
    /// The core's breaker, a share of the last calls.
    LastN(BreakerPolicy<LastN>),
    /// The core's breaker, a share of the last calls that failed or were slow. Only a settings
    /// file can say it, so the engine alone goes without.
    #[cfg(feature = "command")]
    LastNs(BreakerPolicy<AnyOf<LastN, LastN>>),
    /// Nothing.
    None,
    /// The core's breaker, a share of the last seconds.
    TimeWindow(BreakerPolicy<TimeWindow>),
    /// The core's breaker, a share of the last seconds that failed or were slow; like the last
    /// calls, only from a settings file.
    #[cfg(feature = "command")]
    TimeWindows(BreakerPolicy<AnyOf<TimeWindow, TimeWindow>>),
}

/// What bounds retries. One for each client.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// The AWS SDKs' quota: a model.
    Aws(Aws),
    /// Envoy's share of requests under way: a model.
    Envoy(Envoy),
    /// Finagle's window with a floor: a model.
    Finagle(Finagle),
    /// The bucket of `MongoDB`'s drivers: a model.
    MongoDb(MongoDb),
    /// Nothing.
    None,
    /// A bucket that every call refills: a model.
    Requests(Requests),
    /// The core's throttle.
    Shipped(ThrottlePolicy),
}

impl Policy {
    /// One attempt of at most a second, and nothing else.
    pub const NO_RETRY: Self = Self {
        call: SECOND.with_retry(RetryPolicy::OFF),
        guard: Guard::None,
        budget: Budget::None,
        open_jitter: 0,
    };

    /// Attempts of at most a second, `attempts` of them for whatever fails, with these waits.
    ///
    /// # Errors
    ///
    /// Refuses 0 attempts.
    pub const fn retrying(attempts: u16, backoff: Backoff) -> Result<Self, Invalid> {
        let retry = RetryPolicy::DEFAULT.with_codes(FAILURES).with_backoff(backoff);
        match retry.with_max_attempts(attempts) {
            Ok(retry) => Ok(Self { call: SECOND.with_retry(retry), ..Self::NO_RETRY }),
            Err(invalid) => Err(invalid),
        }
    }

    /// With this guard.
    #[must_use]
    pub const fn with_guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// With this budget.
    #[must_use]
    pub const fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// With breakers' open times spread by ± this many thousandths, each client its own.
    #[must_use]
    pub const fn with_open_jitter(mut self, thousandths: u16) -> Self {
        self.open_jitter = thousandths;
        self
    }

    /// The attempts of one call that are configured: 1 for a method that may not be executed twice,
    /// whatever the settings say of others.
    pub const fn attempts(&self) -> u16 {
        let retry = self.call.retry();
        if retry.is_idempotent() { retry.max_attempts() } else { 1 }
    }
}

/// Exponential waits, doubling.
///
/// # Errors
///
/// What [`Backoff`] refuses.
pub const fn doubling(
    initial: Duration,
    max: Duration,
    jitter: Jitter,
) -> Result<Backoff, Invalid> {
    match Backoff::new(initial, max) {
        Ok(backoff) => backoff.with_jitter(jitter),
        Err(invalid) => Err(invalid),
    }
}

/// No wait at all.
pub const IMMEDIATELY: Backoff = match doubling(Duration::ZERO, Duration::ZERO, Jitter::None) {
    Ok(backoff) => backoff,
    Err(_) => Backoff::DEFAULT,
};

/// Whatever a simulated server fails with.
pub const FAILURES: CodeSet = CodeSet::RETRYABLE.with(Code::DeadlineExceeded);

const SECOND: CallPolicy = {
    let unbounded = CallPolicy::DEFAULT.unbounded();
    match unbounded.with_attempt_timeout(Duration::from_secs(1)) {
        Ok(policy) => policy,
        Err(_) => unbounded,
    }
};
