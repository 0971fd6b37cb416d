//! This file knows short ways to write the settings of scenarios, in milliseconds.

use core::time::Duration;

use evenkeel_tests::pb;
use evenkeel_tonic::core::{
    Backoff, BreakerPolicy, Code, CodeSet, Consecutive, Jitter, RetryPolicy,
};
use evenkeel_tonic::{AllowList, Builder, Resilient};

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A builder that knows the methods of `lab.v1.Lab`.
pub(crate) fn client() -> Builder {
    bare().methods(&pb::METHODS)
}

/// A builder that knows nothing about methods.
pub(crate) fn bare() -> Builder {
    Resilient::builder().target("lab")
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

/// The default codes and these.
pub(crate) fn also(codes: &[Code]) -> CodeSet {
    codes.iter().fold(CodeSet::RETRYABLE, |set, code| set.with(*code))
}

/// Opens after `threshold` failures in a row, for 10 s; one trial at a time.
pub(crate) fn opens_after(threshold: u16) -> BreakerPolicy {
    BreakerPolicy::new(Consecutive::new(threshold).unwrap()).with_open_for(millis(10_000)).unwrap()
}

/// A list of these methods.
pub(crate) fn only(methods: &[&str]) -> AllowList {
    AllowList::new(methods).unwrap()
}
