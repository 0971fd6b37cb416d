//! This file knows settings that contradict each other in what a client does with its calls,
//! whoever said it: a file, code, or a service config.

use core::time::Duration;

use evenkeel_core::rng::Always;
use evenkeel_core::{Code, CodeSet, Growth, RetryPolicy};

use crate::Warning;

/// What a client does with its calls, for a judgement on all of it.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_settings::{Together, Warning};
///
/// let attempt_timeout = Duration::from_secs(1);
/// let client = Together { attempt_timeout: Some(attempt_timeout), ..Together::default() };
/// assert_eq!(client.warnings(), [Warning::AttemptsWithoutEnd { attempt_timeout }]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// The time of a call that has no other; `None` for no limit.
    pub timeout: Option<Duration>,
    /// The longest time that any call has; `None` where one has no limit.
    pub longest: Option<Duration>,
    /// The limit for each attempt; `None` for none.
    pub attempt_timeout: Option<Duration>,
    /// Whether calls wait for a connection that need not have a deadline.
    pub waits_without_deadline: bool,
    /// How calls are retried.
    pub retries: Vec<Retries>,
    /// How calls are hedged.
    pub hedges: Vec<Hedges>,
    /// Whether any hedging is asked for. Who is not on the list of methods that may be executed
    /// twice is not hedged all the same.
    pub is_hedged: bool,
    /// Which methods may be executed twice.
    pub list: Listed,
    /// The failures in a row that open a breaker, where that is its rule.
    pub fail_threshold: Option<u16>,
    /// How many targets share the attempts of a call, as far as is known; 0 counts as 1.
    pub targets: usize,
    /// Whether there is a throttle.
    pub is_throttled: bool,
    /// Whether no request message is kept for a second attempt, unless it is empty.
    pub keeps_nothing: bool,
}

/// One way in which calls are retried.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// Attempts, waits and codes.
    pub policy: RetryPolicy,
    /// The longest time of a call that is retried so; `None` for no limit.
    pub longest: Option<Duration>,
}

impl Retries {
    /// Whether any failure leads to another attempt.
    pub fn repeats(&self) -> bool {
        self.policy.max_attempts() > 1 && !self.policy.codes().is_empty()
    }
}

/// One way in which calls are hedged.
#[derive(Clone, Copy, Debug)]
pub struct Hedges {
    /// The shortest delay before a hedge.
    pub delay: Duration,
    /// Whether the delay is measured, so that it is not zero for all calls.
    pub is_measured: bool,
    /// Attempts of one call.
    pub max_attempts: u16,
    /// The attempts that its calls would have if they were retried; `None` where they would not be.
    pub in_place_of: Option<u16>,
}

/// What is said of the methods that may be executed twice.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Listed {
    /// Nothing: all are retried.
    #[default]
    Nothing,
    /// That none is.
    None,
    /// That some are.
    Some,
}

impl Together {
    /// What looks wrong about it, each thing once.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        warnings.extend(self.of_time());
        for retries in &self.retries {
            warnings.extend(self.of_retries(retries));
        }
        for hedges in &self.hedges {
            warnings.extend(self.of_hedges(hedges));
        }
        if self.is_throttled && self.retries.is_empty() && !self.is_hedged {
            let needs = "[retry] or [hedging]";
            warnings.push(Warning::NoEffect { path: "throttle", needs });
        }
        let repeats = self.is_hedged || self.retries.iter().any(Retries::repeats);
        if self.keeps_nothing && repeats {
            warnings.push(Warning::NothingToSendAgain);
        }
        let mut once = Vec::new();
        for warning in warnings {
            if !once.contains(&warning) {
                once.push(warning);
            }
        }
        once
    }

    fn of_time(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(attempt_timeout) = self.attempt_timeout {
            if self.timeout.is_none() {
                warnings.push(Warning::AttemptsWithoutEnd { attempt_timeout });
            } else if is_over(attempt_timeout, self.longest) {
                let needs = "a longer timeout.default";
                warnings.push(Warning::NoEffect { path: "timeout.attempt_timeout", needs });
            }
        }
        if self.waits_without_deadline && self.timeout.is_none() {
            warnings.push(Warning::WaitWithoutDeadline { require_deadline: false });
        }
        warnings
    }

    fn of_retries(&self, Retries { policy, longest }: &Retries) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let (initial, max) = (policy.backoff().initial(), policy.backoff().max());
        if max < initial {
            let (initial_backoff, max_backoff) = (initial.as_duration(), max.as_duration());
            warnings.push(Warning::MaxBelowInitial { initial_backoff, max_backoff });
        }
        let max_attempts = policy.max_attempts();
        if max_attempts < 2 {
            return warnings;
        }
        if policy.codes().is_empty() {
            let needs = "a code in retry.codes";
            warnings.push(Warning::NoEffect { path: "retry.max_attempts", needs });
            return warnings;
        }
        let wait = shortest_wait(policy);
        if let Some(timeout) = longest.filter(|timeout| *timeout <= wait) {
            warnings.push(Warning::NoRetryFits { wait, timeout });
        }
        warnings.extend(self.of_attempt_timeout(policy));
        if let Some(fail_threshold) = self.fail_threshold
            && fail_threshold <= self.at_one_target(max_attempts)
        {
            warnings.push(Warning::OpensItself { fail_threshold, max_attempts });
        }
        let codes: CodeSet = policy.codes().iter().filter(|code| RAN.contains(*code)).collect();
        if self.list == Listed::Nothing && !codes.is_empty() {
            warnings.push(Warning::HandlerMayHaveRun { codes });
        }
        warnings
    }

    /// How many of a call's attempts one target gets: the next attempt goes to another where there is
    /// one, and each target has breakers of its own.
    fn at_one_target(&self, max_attempts: u16) -> u16 {
        let targets = u16::try_from(self.targets.max(1)).unwrap_or(u16::MAX);
        max_attempts.div_ceil(targets)
    }

    /// The expiry of the limit for each attempt is final unless its code is retried, and that of the
    /// call's own always.
    fn of_attempt_timeout(&self, policy: &RetryPolicy) -> Option<Warning> {
        // Hedged is only who is on a list.
        let is_hedged = self.is_hedged && self.list == Listed::Some;
        let is_retried = !is_hedged && self.list != Listed::None;
        match (self.attempt_timeout, policy.codes().contains(Code::DeadlineExceeded)) {
            _ if !is_retried => None,
            (None, true) => Some(Warning::NoLimitForAnAttempt),
            (Some(attempt_timeout), false) if !is_over(attempt_timeout, self.longest) => {
                Some(Warning::AttemptTimeoutIsFinal { attempt_timeout })
            }
            _ => None,
        }
    }

    fn of_hedges(&self, hedges: &Hedges) -> Vec<Warning> {
        let Hedges { delay, is_measured, max_attempts, in_place_of } = *hedges;
        let mut warnings = Vec::new();
        match self.longest {
            Some(timeout) if timeout <= delay => {
                warnings.push(Warning::NeverHedges { delay, timeout });
            }
            _ if delay.is_zero() && !is_measured => {
                warnings.push(Warning::HedgesAtOnce { max_attempts });
            }
            _ => {}
        }
        let more = in_place_of.filter(|retried| *retried > max_attempts);
        if let Some(retried) = more.filter(|_| self.list == Listed::Some) {
            warnings.push(Warning::HedgedLess { hedged: max_attempts, retried });
        }
        warnings
    }
}

/// Whether no call lasts as long as its attempts may.
fn is_over(attempt_timeout: Duration, longest: Option<Duration>) -> bool {
    longest.is_some_and(|longest| longest <= attempt_timeout)
}

/// The first wait, as short as jitter can make it.
fn shortest_wait(policy: &RetryPolicy) -> Duration {
    let mut growth = Growth::START;
    policy.backoff().next_delay(&mut growth, &mut Always(0)).as_duration()
}

/// With these the handler ran, or may have. None is in a default set.
const RAN: CodeSet = CodeSet::of(&[
    Code::Unknown,
    Code::DeadlineExceeded,
    Code::Aborted,
    Code::Internal,
    Code::DataLoss,
]);
