//! This file knows what can be said about a target that is not connected.

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use evenkeel_tokio::core::{Instant, Micros};

use super::Why;

/// The target is not connected, and the next dial may not begin before [`retry_at`].
///
/// A call gets this both when its dial failed and when it came inside the pause after one; either
/// way nothing was sent, so it may be repeated whatever the method. Why the last dial failed is
/// the `source()`. Inside a `tonic::Status` it is found by [`of`](Self::of).
///
/// [`retry_at`]: Self::retry_at
#[derive(Clone, Debug)]
pub struct NotConnected {
    retry_at: Instant,
    left: Micros,
    cause: DialError,
}

impl NotConnected {
    pub(super) const fn new(now: Instant, retry_at: Instant, cause: DialError) -> Self {
        Self { retry_at, left: retry_at.since(now), cause }
    }

    /// The one in the chain of sources that begins with `error`, however deep.
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut link = Some(error);
        while let Some(error) = link {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            link = error.source();
        }
        None
    }

    /// When the next dial may begin, on the clock of this crate.
    pub const fn retry_at(&self) -> Instant {
        self.retry_at
    }

    /// How long after this error was made the next dial may begin.
    pub const fn retry_after(&self) -> Duration {
        self.left.as_duration()
    }

    /// How the last dial ended.
    pub const fn cause(&self) -> &DialError {
        &self.cause
    }
}

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not connected, next try in {}", self.left)
    }
}

impl Error for NotConnected {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

/// How a dial failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DialError {
    /// Nobody was left to make it: the inner connector panicked, or tokio's runtime is gone.
    Abandoned,
    /// The inner connector's own error.
    Connector(Arc<dyn Error + Send + Sync>),
    /// Connected, but lost `after` so short a time that the server cannot have been in order: it
    /// had not said a word or, with TLS, the first pause had not passed.
    LostEarly {
        /// From being connected to being lost.
        after: Micros,
        /// Why, where a call has found out.
        why: Why,
    },
    /// No connection within the policy's `connect_timeout`.
    TimedOut {
        /// The `connect_timeout`.
        limit: Micros,
    },
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Abandoned => {
                f.write_str("dial abandoned: its connector panicked, or tokio's runtime is gone")
            }
            Self::Connector(_) => f.write_str("dial failed"),
            Self::LostEarly { after, .. } => write!(f, "connection lost after {after}"),
            Self::TimedOut { limit } => write!(f, "no connection within {limit}"),
        }
    }
}

impl Error for DialError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connector(error) => Some(&**error),
            Self::LostEarly { why, .. } => why.get(),
            Self::Abandoned | Self::TimedOut { .. } => None,
        }
    }
}

/// The deadline passed before the target was connected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DeadlinePassed;

impl fmt::Display for DeadlinePassed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline passed before the target was connected")
    }
}

impl Error for DeadlinePassed {}
