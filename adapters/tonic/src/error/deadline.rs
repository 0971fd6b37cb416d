//! This file knows the error of a call whose time was up, and which limit it ran into: a log in
//! which they all read the same sends people to the wrong setting.

use core::error::Error;
use core::fmt;
use std::sync::Arc;

use evenkeel_tokio::core::Micros;
use tonic::Status;

use super::{NoHealthyTargets, with_source};

/// The deadline of the call, or of its last attempt, came first. The status is
/// `DEADLINE_EXCEEDED`.
#[derive(Clone)]
#[non_exhaustive]
pub struct DeadlinePassed {
    /// The call.
    pub method: Arc<str>,
    /// Which limit it was.
    pub limit: TimeLimit,
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

/// What bounded the time that was up: the nearest of all that applied. Of two that were equally near
/// it is the one that stands first here, but for the timeout of an attempt, which is told only where
/// the call had more time.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum TimeLimit {
    /// [`Builder::attempt_timeout`](crate::Builder::attempt_timeout), in a settings file
    /// `timeout.attempt_timeout`.
    AttemptTimeout(Micros),
    /// [`Builder::timeout`](crate::Builder::timeout) or the method's own, in a settings file
    /// `timeout.default` or `timeout.per_method`.
    Timeout(Micros),
    /// What the caller set on the request, such as with `tonic::Request::set_timeout`.
    Caller,
    /// What was left of the budget of the request in which the call was made.
    RequestBudget,
}

impl TimeLimit {
    /// The word for it in logs: `attempt_timeout`, `timeout`, `caller` or `request_budget`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AttemptTimeout(_) => "attempt_timeout",
            Self::Timeout(_) => "timeout",
            Self::Caller => "caller",
            Self::RequestBudget => "request_budget",
        }
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AttemptTimeout(limit) => write!(f, "attempt_timeout of {limit}"),
            Self::Timeout(limit) => write!(f, "timeout of {limit}"),
            Self::Caller => f.write_str("deadline of the caller"),
            Self::RequestBudget => f.write_str("deadline of the request's budget"),
        }
    }
}

impl DeadlinePassed {
    /// Of a call that came too late to begin.
    pub(crate) const fn before_any_attempt(method: Arc<str>, limit: TimeLimit) -> Self {
        let (last, nobody) = (None, None);
        Self { method, limit, attempts: 0, last, nobody, connecting: None, unconnected: None }
    }
}

impl fmt::Display for DeadlinePassed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, limit, .. } = self;
        match self.attempts {
            0 => write!(f, "{limit} passed before {method} was sent"),
            1 => write!(f, "{limit} passed in the first attempt of {method}"),
            n => write!(f, "{limit} passed after {n} attempts of {method}"),
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

impl From<DeadlinePassed> for Status {
    fn from(error: DeadlinePassed) -> Self {
        with_source(Self::deadline_exceeded(error.to_string()), error)
    }
}
