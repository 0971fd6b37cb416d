//! This file knows the one word for how a call ended, and which of its facts may be told.

use core::error::Error;
use core::iter::successors;

use evenkeel_tokio::core::{Code, StopReason};
use tonic::Status;

use crate::error::{
    BudgetExhausted, CircuitOpen, Closed, DeadlinePassed, Never, NoHealthyTargets, Stopped, cause,
};
use crate::wire::status::from_tonic;

/// How a call ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ending {
    pub(super) kind: Kind,
    pub(super) code: Code,
    /// Where it is this side's verdict, and not what a server or the transport said: the word for
    /// what said no.
    pub(super) local: Option<&'static str>,
    /// Why there was no further attempt, where one could have been wanted.
    pub(super) denied: Option<&'static str>,
    /// Which limit of its time was up, or too near for a retry, where one was.
    pub(super) limit: Option<&'static str>,
}

/// The four kinds of end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// The caller went away.
    Cancelled,
    Error,
    /// Our circuit breaker refused it.
    Rejected,
    Success,
}

impl Kind {
    /// The name used in metrics and spans.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Error => "error",
            Self::Rejected => "rejected",
            Self::Success => "success",
        }
    }
}

impl Ending {
    /// Dropped before it was over.
    pub(super) const DROPPED: Self = Self {
        kind: Kind::Cancelled,
        code: Code::Cancelled,
        local: Some("caller"),
        ..Self::SUCCESS
    };

    const SUCCESS: Self =
        Self { kind: Kind::Success, code: Code::Ok, local: None, denied: None, limit: None };

    /// Of a call that brought this.
    pub(super) fn of(result: Result<(), &Status>) -> Self {
        let Err(status) = result else { return Self::SUCCESS };
        let code = from_tonic(status.code());
        let (mut kind, mut denied) = (Kind::Error, None);
        match status.source() {
            Some(source) if source.is::<CircuitOpen>() => {
                (kind, denied) = (Kind::Rejected, Some("breaker"));
            }
            Some(source) => {
                let stopped = source.downcast_ref::<Stopped>();
                denied = stopped.and_then(word);
            }
            None => {}
        }
        let limit = cause::<DeadlinePassed>(status).map(|passed| passed.limit.name());
        Self { kind, code, local: ours(status), denied, limit }
    }

    /// With the limit that left no time for a retry, where it was none that passed.
    pub(super) fn within(mut self, limit: Option<&'static str>) -> Self {
        if self.denied == Some("deadline") {
            self.limit = self.limit.or(limit);
        }
        self
    }

    /// Where the error came from.
    pub(super) const fn origin(&self) -> &'static str {
        if self.local.is_some() { "local" } else { "peer" }
    }

    /// Whether it is a failure, of whoever: a caller who left is none.
    pub(super) const fn is_failure(&self) -> bool {
        matches!(self.kind, Kind::Error | Kind::Rejected)
    }

    /// Whether what the status says belongs into a trace: only where it tells of a fault in the
    /// program. An answer such as `NOT_FOUND` is an answer.
    pub(super) const fn is_a_fault(&self) -> bool {
        matches!(self.code, Code::Internal | Code::Unknown | Code::DataLoss)
    }
}

/// The word for why a call went no further: where its error knows more than the reason, that.
fn word(stopped: &Stopped) -> Option<&'static str> {
    match (stopped.reason, stopped.never) {
        (StopReason::NotRetryable, Some(Never::Call | Never::Method)) => Some("without_retry"),
        (StopReason::PushedBack, _) if stopped.unreadable => Some("unreadable_pushback"),
        (reason, _) => denial(reason),
    }
}

/// The word for why there was no further attempt. A throttle's no was counted when it said it, and
/// neither a success nor a caller who left was denied anything.
const fn denial(reason: StopReason) -> Option<&'static str> {
    match reason {
        StopReason::AttemptsUsedUp => Some("attempts"),
        StopReason::CircuitOpen { .. } => Some("breaker"),
        StopReason::DeadlinePassed | StopReason::DeadlineWouldPass => Some("deadline"),
        StopReason::HintTooLong { .. } | StopReason::PushedBack => Some("pushback"),
        StopReason::NoTarget => Some("no_target"),
        StopReason::NotIdempotent => Some("not_idempotent"),
        StopReason::NotReplayable => Some("not_replayable"),
        StopReason::NotRetryable => Some("not_retryable"),
        StopReason::Cancelled | StopReason::Succeeded | StopReason::Throttled => None,
    }
}

/// The word for the error of ours that `status` comes of. The outermost: what it came of itself is
/// among its sources.
fn ours(status: &Status) -> Option<&'static str> {
    let first: Option<&(dyn Error + 'static)> = status.source();
    successors(first, |&error| error.source()).find_map(|error| match error {
        _ if error.is::<BudgetExhausted>() => Some("request_budget"),
        _ if error.is::<CircuitOpen>() => Some("breaker"),
        _ if error.is::<Closed>() => Some("closed"),
        _ if error.is::<DeadlinePassed>() => Some("deadline"),
        _ if error.is::<NoHealthyTargets>() => Some("no_target"),
        _ => None,
    })
}
