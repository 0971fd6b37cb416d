//! This file knows the error of a call that a circuit breaker of ours refused.

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use evenkeel_tokio::core::{Instant, Micros};
use tonic::Status;

use super::with_source;

/// Which breaker: one for each target and method.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct BreakerKey {
    /// The target, as it was named when the client was built.
    pub target: Arc<str>,
    /// The method, `/package.Service/Method`.
    pub method: Arc<str>,
}

/// Our breaker refused an attempt, which was not sent; earlier ones of the call may have been. The
/// status is `UNAVAILABLE`.
#[derive(Clone)]
#[non_exhaustive]
pub struct CircuitOpen {
    /// Whose breaker.
    pub key: BreakerKey,
    /// When asking again makes sense, on the clock of this crate; [`Instant::MAX`] when it was
    /// forced open. [`retry_after`](Self::retry_after) says how long that is.
    pub retry_at: Instant,
    /// Attempts of this call that were made before.
    pub attempts: u16,
    /// What came of them: the last status a server sent, with what a later attempt ended in as its
    /// source; that alone where no server said anything.
    pub last: Option<Status>,
    /// From when the error was made.
    left: Micros,
}

impl CircuitOpen {
    pub(crate) const fn new(
        now: Instant,
        key: BreakerKey,
        retry_at: Instant,
        attempts: u16,
        last: Option<Status>,
    ) -> Self {
        Self { key, retry_at, attempts, last, left: retry_at.since(now) }
    }

    /// How long after this error was made asking again makes sense, as for a `Retry-After`.
    ///
    /// [`Duration::MAX`] when the breaker was forced open: then nobody knows.
    pub fn retry_after(&self) -> Duration {
        if self.is_forced() { Duration::MAX } else { self.left.as_duration() }
    }

    fn is_forced(&self) -> bool {
        self.retry_at == Instant::MAX
    }
}

impl fmt::Display for CircuitOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Circuit breaker for {} is open", self.key.method)?;
        if !self.key.target.is_empty() {
            write!(f, " at {}", self.key.target)?;
        }
        if self.is_forced() {
            return f.write_str(", forced by hand");
        }
        write!(f, ", next try in {}", self.left)
    }
}

impl Error for CircuitOpen {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.last.as_ref().map(|last| last as &(dyn Error + 'static))
    }
}

impl From<CircuitOpen> for Status {
    fn from(error: CircuitOpen) -> Self {
        with_source(Self::unavailable(error.to_string()), error)
    }
}
