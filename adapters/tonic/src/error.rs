//! This file knows the errors that are ours, and how they ride on a status.
//!
//! A caller gets a `tonic::Status` as always. Its code and message say what to do; its
//! [`source`](std::error::Error::source) chain answers what they cannot: was it our breaker or the
//! backend, why was there no further attempt, and what did the backend really say last.

use alloc::borrow::Cow;
use core::error::Error;
use core::fmt;
use std::sync::Arc;

use evenkeel_tokio::core::{Invalid, Micros, StopReason};
use tonic::Status;

use crate::target::InvalidTarget;

mod brief;
mod circuit;
mod closed;
mod deadline;
mod nobody;

pub use circuit::{BreakerKey, CircuitOpen};
pub use closed::Closed;
pub use deadline::{DeadlinePassed, TimeLimit};
pub use nobody::NoHealthyTargets;

/// Any error, as services pass them on.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The first error of type `E` in the source chain of `status`.
///
/// ```
/// use evenkeel_tonic::{CircuitOpen, cause};
///
/// let status = tonic::Status::unavailable("from the backend");
/// assert!(cause::<CircuitOpen>(&status).is_none(), "so it was the backend");
/// ```
pub fn cause<E: Error + 'static>(status: &Status) -> Option<&E> {
    let mut next = status.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The request had no time left for this call, or of a strict budget less than its `min_timeout`,
/// which is so where `elapsed` is less than `total`: nothing was sent. The status is
/// `DEADLINE_EXCEEDED`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BudgetExhausted {
    /// The call that was not made.
    pub method: Arc<str>,
    /// Time since the budget was made.
    pub elapsed: Micros,
    /// What the budget held at first.
    pub total: Micros,
}

/// Why a failed call had no further attempt. The status is what the last attempt ended in.
#[derive(Clone)]
#[non_exhaustive]
pub struct Stopped {
    /// Why.
    pub reason: StopReason,
    /// Attempts made that count.
    pub attempts: u16,
    /// Where nothing is retried at all: no list of codes is what stopped it then.
    pub(crate) never: Option<Never>,
    /// The server's `grpc-retry-pushback-ms` made no sense, which counts as a "do not retry".
    pub(crate) unreadable: bool,
    /// The status as it was, where it has a source of its own, such as a
    /// [`TransportError`](crate::TransportError); behind the last status a server sent, where that
    /// was in an earlier attempt.
    pub(crate) cause: Option<Status>,
}

/// Where it was said that nothing is retried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Never {
    /// By the call, or by the client above, which retries itself.
    Call,
    /// Nowhere: there is no retry block.
    Client,
    /// By the retry block, or by a service config that retries other methods.
    Method,
}

/// A client that could not be built.
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// A method name that is not `/package.Service/Method`.
    Method(String),
    /// A setting of one method that was refused.
    MethodSetting {
        /// The method, `/package.Service/Method`.
        method: String,
        /// What was refused about it.
        invalid: Invalid,
    },
    /// A setting that is no number and was refused, or that does not go with another.
    Refused {
        /// The setting, as `block.name`.
        field: &'static str,
        /// What would be right.
        rule: Cow<'static, str>,
    },
    /// An allow-list pattern that is no full name, no `/package.Service/*` and no `Prefix*`.
    Pattern(String),
    /// A setting that was refused.
    Setting(Invalid),
    /// What was given as a target is none.
    Target(InvalidTarget),
    /// An upstream of a factory that could not be built.
    Upstream {
        /// The upstream.
        upstream: String,
        /// What is wrong with it.
        error: Box<Self>,
    },
}

impl From<InvalidTarget> for BuildError {
    fn from(invalid: InvalidTarget) -> Self {
        Self::Target(invalid)
    }
}

impl From<Invalid> for BuildError {
    fn from(invalid: Invalid) -> Self {
        Self::Setting(invalid)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(name) if name.contains('*') => write!(
                f,
                "method name {name:?}: must be one full method, \"/package.Service/Method\"; a star \
                 has a meaning only in an AllowList"
            ),
            Self::Method(name) => {
                write!(f, "method name {name:?}: must be \"/package.Service/Method\"")
            }
            Self::MethodSetting { method, invalid } => write!(f, "{method}: {invalid}"),
            Self::Pattern(pattern) => write!(
                f,
                "retry.idempotent_methods has {pattern:?}: must be \"/package.Service/Method\", \
                 \"/package.Service/*\" or a prefix such as \"Get*\"",
            ),
            Self::Refused { field, rule } => write!(f, "{field}: {rule}"),
            Self::Setting(invalid) => invalid.fmt(f),
            Self::Target(invalid) => invalid.fmt(f),
            Self::Upstream { upstream, error } => write!(f, "upstream {upstream:?}: {error}"),
        }
    }
}

/// As it is displayed: a `main` that returns it prints this.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for BuildError {}

impl fmt::Display for BudgetExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, elapsed, total } = self;
        if elapsed < total {
            let left = total.minus(*elapsed);
            return write!(
                f,
                "request deadline too near for {method}: {left} of {total} left, and a strict \
                 budget refuses less than budget.min_timeout"
            );
        }
        write!(
            f,
            "request deadline exceeded before {method}: {elapsed} elapsed, budget was {total}"
        )
    }
}

impl Error for BudgetExhausted {}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no further attempt after {}: ", self.attempts)?;
        if self.unreadable {
            return f.write_str(
                "the peer sent a grpc-retry-pushback-ms that cannot be read, which is taken for a no",
            );
        }
        match self.never.filter(|_| self.reason == StopReason::NotRetryable) {
            Some(Never::Call) => f.write_str("this call does not retry"),
            Some(Never::Client) => f.write_str("this client does not retry"),
            Some(Never::Method) => f.write_str("this client does not retry this method"),
            None => self.reason.fmt(f),
        }
    }
}

impl Error for Stopped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl From<BudgetExhausted> for Status {
    fn from(error: BudgetExhausted) -> Self {
        with_source(Self::deadline_exceeded(error.to_string()), error)
    }
}

/// What the innermost source of `error` says, which is what happened; those around it say to whom.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn with_source(mut status: Status, source: impl Error + Send + Sync + 'static) -> Status {
    status.set_source(Arc::new(source));
    status
}
