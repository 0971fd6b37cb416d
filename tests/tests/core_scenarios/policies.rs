//! This file knows short ways to write the settings of scenarios, in milliseconds.

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Code, CodeSet, Consecutive, Jitter, Micros, Outcome,
    RetryPolicy,
};

pub(crate) const fn ms(millis: u64) -> Micros {
    Micros::from_millis(millis)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn code(code: Code) -> Outcome {
    Outcome::new(code)
}

/// Doubling from `initial` to at most 10 s, without jitter.
pub(crate) fn exact(initial: u64) -> Backoff {
    let backoff = Backoff::new(millis(initial), Duration::from_secs(10)).unwrap();
    backoff.with_jitter(Jitter::None).unwrap()
}

/// The default codes, this many attempts, and waits that double from `initial`.
pub(crate) fn retries(attempts: u16, initial: u64) -> RetryPolicy {
    RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap().with_backoff(exact(initial))
}

/// [`retries`] within 10 s.
pub(crate) fn calls(attempts: u16, initial: u64) -> CallPolicy {
    CallPolicy::DEFAULT.with_retry(retries(attempts, initial))
}

/// [`retries`] within `timeout`.
pub(crate) fn calls_within(timeout: u64, attempts: u16, initial: u64) -> CallPolicy {
    calls(attempts, initial).with_timeout(millis(timeout)).unwrap()
}

/// The default codes and these.
pub(crate) fn also(codes: &[Code]) -> CodeSet {
    codes.iter().fold(CodeSet::RETRYABLE, |set, code| set.with(*code))
}

/// Opens after `threshold` failures in a row, for 10 s; one trial at a time.
pub(crate) fn opens_after(threshold: u16) -> BreakerPolicy {
    BreakerPolicy::new(Consecutive::new(threshold).unwrap()).with_open_for(millis(10_000)).unwrap()
}
