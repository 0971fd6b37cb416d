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
mod nobody;

pub use circuit::{BreakerKey, CircuitOpen};
pub use closed::Closed;
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

/// The request had no time left for this call: nothing was sent. The status is
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

/// The deadline of the call, or of its last attempt, came first. The status is
/// `DEADLINE_EXCEEDED`.
#[derive(Clone)]
#[non_exhaustive]
pub struct DeadlinePassed {
    /// The call.
    pub method: Arc<str>,
    /// Attempts made; with 0 nothing was sent. One that only waited for a connection counts: then
    /// `nobody`, `connecting` or `unconnected` says so.
    pub attempts: u16,
    /// What came of them: the last status a server sent, with what a later attempt ended in as its
    /// source; that alone where no server said anything.
    pub last: Option<Status>,
    /// Who was looked at, and why none of them would do, where the call waited for a connection
    /// to a member of a pool until the end.
    pub nobody: Option<NoHealthyTargets>,
    /// The target of the last attempt, where the connection to it was still being made: nothing
    /// was sent to it.
    pub connecting: Option<Arc<str>>,
    /// How the last dial to that target failed; or to the one whose connection the last attempt
    /// waited for until the end, so that nothing was sent to it.
    pub unconnected: Option<String>,
}

/// Why a failed call had no further attempt. The status is what the last attempt ended in.
#[derive(Clone)]
#[non_exhaustive]
pub struct Stopped {
    /// Why.
    pub reason: StopReason,
    /// Attempts made that count.
    pub attempts: u16,
    /// The status as it was, where it has a source of its own, such as a
    /// [`TransportError`](crate::TransportError); behind the last status a server sent, where that
    /// was in an earlier attempt.
    pub(crate) cause: Option<Status>,
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
        write!(
            f,
            "request deadline exceeded before {method}: {elapsed} elapsed, budget was {total}"
        )
    }
}

impl Error for BudgetExhausted {}

impl DeadlinePassed {
    /// Of a call that came too late to begin.
    pub(crate) const fn before_any_attempt(method: Arc<str>) -> Self {
        Self { method, attempts: 0, last: None, nobody: None, connecting: None, unconnected: None }
    }
}

impl fmt::Display for DeadlinePassed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts {
            0 => write!(f, "deadline of {} passed before it was sent", self.method),
            1 => write!(f, "deadline of {} passed in its first attempt", self.method),
            n => write!(f, "deadline of {} passed after {n} attempts", self.method),
        }?;
        if let Some(nobody) = &self.nobody {
            return write!(f, "; {nobody}");
        }
        match (self.connecting.as_deref(), &self.unconnected) {
            (Some(""), _) => f.write_str("; its connection was still being made"),
            (Some(to), _) => write!(f, "; the connection to {to} was still being made"),
            (None, Some(why)) if self.attempts > 1 => {
                return write!(f, "; the last was never connected: {why}");
            }
            (None, Some(why)) => return write!(f, "; it was never connected: {why}"),
            (None, None) => Ok(()),
        }?;
        self.unconnected.as_ref().map_or(Ok(()), |why| write!(f, " (last: {why})"))
    }
}

impl Error for DeadlinePassed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let nobody = self.nobody.as_ref().map(|nobody| nobody as &(dyn Error + 'static));
        self.last.as_ref().map(|last| last as &(dyn Error + 'static)).or(nobody)
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no further attempt after {}: {}", self.attempts, self.reason)
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

impl From<DeadlinePassed> for Status {
    fn from(error: DeadlinePassed) -> Self {
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
