//! This file knows a policy as a person writes it down: the same numbers as text and as machines.
//!
//! The core's policies are made for running, not for reading back. A [`Spec`] is plain data; from it
//! come the [`Policy`] that is simulated, the TOML that `evenkeel-settings` reads, and the Rust.

mod rust;
mod scenario;
mod toml;

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Code, CodeSet, Consecutive, Invalid, Jitter, LastN,
    RetryPolicy, ThrottlePolicy, TimeWindow, Trip,
};

use crate::models::{Aws, Envoy, Finagle, MongoDb};
use crate::{Budget, Guard, Policy};

/// A policy in plain values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// The time of a whole call; `None` leaves it to the caller.
    pub timeout: Option<Duration>,
    /// The limit of each attempt.
    pub attempt_timeout: Option<Duration>,
    /// What is tried again.
    pub retry: RetrySpec,
    /// What opens a circuit.
    pub breaker: Option<BreakerSpec>,
    /// What bounds all retries together.
    pub budget: BudgetSpec,
}

/// What is tried again, how often and how fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrySpec {
    /// Attempts, the first included.
    pub max_attempts: u16,
    /// The first wait.
    pub initial: Duration,
    /// The longest wait.
    pub max: Duration,
    /// How much longer each wait is, in thousandths.
    pub multiplier: u32,
    /// How the waits are spread.
    pub jitter: Jitter,
    /// Whether an attempt that ran into its time is tried again too, besides `UNAVAILABLE` and
    /// `RESOURCE_EXHAUSTED`.
    pub timeouts: bool,
}

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerSpec {
    /// What opens it.
    pub rule: RuleSpec,
    /// How long it stays open.
    pub open_for: Duration,
    /// How much longer with every reopening in a row, in thousandths, and at most how long.
    pub growth: Option<(u32, Duration)>,
    /// The spread of open times, in thousandths.
    pub jitter: u16,
    /// Trials at a time.
    pub trials: u8,
}

/// What opens a circuit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleSpec {
    /// So many failures in a row.
    Consecutive(u16),
    /// A share in percent of the last calls.
    LastN {
        /// How many calls.
        calls: u16,
        /// From how many on it is judged.
        min_calls: u16,
        /// Percent.
        share: u8,
    },
    /// A share in percent of the calls of a window.
    TimeWindow {
        /// How long.
        window: Duration,
        /// From how many calls on it is judged.
        min_calls: u16,
        /// Percent.
        share: u8,
    },
}

/// What bounds all retries together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BudgetSpec {
    /// A model of the AWS SDKs.
    Aws(Aws),
    /// A model of Envoy.
    Envoy(Envoy),
    /// A model of Finagle.
    Finagle(Finagle),
    /// The core's throttle as gRPC A6 has it: tokens, and the ratio in thousandths.
    Grpc(u16, u32),
    /// A model of `MongoDB`'s drivers.
    MongoDb(MongoDb),
    /// Nothing.
    None,
    /// The core's throttle that successes refill: tokens, and the ratio in thousandths.
    SuccessRefilled(u16, u32),
}

impl Spec {
    /// One attempt of a second.
    pub const NO_RETRY: Self = Self {
        timeout: None,
        attempt_timeout: Some(Duration::from_secs(1)),
        retry: RetrySpec {
            max_attempts: 1,
            initial: Duration::from_millis(100),
            max: Duration::from_secs(10),
            multiplier: 2_000,
            jitter: Jitter::Proportional(100),
            timeouts: true,
        },
        breaker: None,
        budget: BudgetSpec::None,
    };

    /// The policy that is simulated.
    ///
    /// # Errors
    ///
    /// What the core refuses, with the field named.
    pub const fn policy(&self) -> Result<Policy, Invalid> {
        let call = match self.call() {
            Ok(call) => call,
            Err(invalid) => return Err(invalid),
        };
        let (guard, open_jitter) = match &self.breaker {
            None => (Guard::None, 0),
            Some(breaker) => match breaker.guard() {
                Ok(guard) => (guard, breaker.jitter),
                Err(invalid) => return Err(invalid),
            },
        };
        match self.budget.budget() {
            Ok(budget) => Ok(Policy { call, guard, budget, open_jitter }),
            Err(invalid) => Err(invalid),
        }
    }

    const fn call(&self) -> Result<CallPolicy, Invalid> {
        let retry = match self.retry.policy() {
            Ok(retry) => retry,
            Err(invalid) => return Err(invalid),
        };
        let mut call = CallPolicy::DEFAULT.with_retry(retry).unbounded();
        if let Some(timeout) = self.timeout {
            call = match call.with_timeout(timeout) {
                Ok(call) => call,
                Err(invalid) => return Err(invalid),
            };
        }
        match self.attempt_timeout {
            Some(limit) => call.with_attempt_timeout(limit),
            None => Ok(call),
        }
    }
}

impl RetrySpec {
    /// The codes that are tried again.
    pub const fn codes(&self) -> CodeSet {
        if self.timeouts {
            CodeSet::RETRYABLE.with(Code::DeadlineExceeded)
        } else {
            CodeSet::RETRYABLE
        }
    }

    const fn policy(&self) -> Result<RetryPolicy, Invalid> {
        let backoff = match self.backoff() {
            Ok(backoff) => backoff,
            Err(invalid) => return Err(invalid),
        };
        RetryPolicy::DEFAULT
            .with_codes(self.codes())
            .with_backoff(backoff)
            .with_max_attempts(self.max_attempts)
    }

    const fn backoff(&self) -> Result<Backoff, Invalid> {
        let waits = match Backoff::new(self.initial, self.max) {
            Ok(waits) => waits,
            Err(invalid) => return Err(invalid),
        };
        match waits.with_multiplier(self.multiplier) {
            Ok(waits) => waits.with_jitter(self.jitter),
            Err(invalid) => Err(invalid),
        }
    }
}

impl BreakerSpec {
    const fn guard(&self) -> Result<Guard, Invalid> {
        Ok(match self.rule {
            RuleSpec::Consecutive(threshold) => match Consecutive::new(threshold) {
                Ok(rule) => match self.breaker(BreakerPolicy::new(rule)) {
                    Ok(breaker) => Guard::Consecutive(breaker),
                    Err(invalid) => return Err(invalid),
                },
                Err(invalid) => return Err(invalid),
            },
            RuleSpec::LastN { calls, min_calls, share } => {
                match LastN::new(calls, min_calls, share) {
                    Ok(rule) => match self.breaker(BreakerPolicy::new(rule)) {
                        Ok(breaker) => Guard::LastN(breaker),
                        Err(invalid) => return Err(invalid),
                    },
                    Err(invalid) => return Err(invalid),
                }
            }
            RuleSpec::TimeWindow { window, min_calls, share } => {
                match TimeWindow::new(window, min_calls as u32, share) {
                    Ok(rule) => match self.breaker(BreakerPolicy::new(rule)) {
                        Ok(breaker) => Guard::TimeWindow(breaker),
                        Err(invalid) => return Err(invalid),
                    },
                    Err(invalid) => return Err(invalid),
                }
            }
        })
    }

    const fn breaker<T: Trip>(&self, plain: BreakerPolicy<T>) -> Result<BreakerPolicy<T>, Invalid> {
        let mut breaker = match plain.with_open_for(self.open_for) {
            Ok(breaker) => breaker,
            Err(invalid) => return Err(invalid),
        };
        if let Some((factor, max)) = self.growth {
            breaker = match breaker.with_growth(factor, max) {
                Ok(breaker) => breaker,
                Err(invalid) => return Err(invalid),
            };
        }
        // Each client's own seed comes later.
        match breaker.with_open_jitter(self.jitter, 0) {
            Ok(breaker) => breaker.with_max_trials(self.trials),
            Err(invalid) => Err(invalid),
        }
    }
}

impl BudgetSpec {
    const fn budget(&self) -> Result<Budget, Invalid> {
        let throttle = match *self {
            Self::None => return Ok(Budget::None),
            Self::Aws(rule) => return Ok(Budget::Aws(rule)),
            Self::Envoy(rule) => return Ok(Budget::Envoy(rule)),
            Self::Finagle(rule) => return Ok(Budget::Finagle(rule)),
            Self::MongoDb(rule) => return Ok(Budget::MongoDb(rule)),
            Self::Grpc(tokens, ratio) => ThrottlePolicy::grpc(tokens, ratio),
            Self::SuccessRefilled(tokens, ratio) => ThrottlePolicy::success_refilled(tokens, ratio),
        };
        match throttle {
            Ok(throttle) => Ok(Budget::Shipped(throttle)),
            Err(invalid) => Err(invalid),
        }
    }
}
