//! This file knows what the span of a call and the span of an attempt look like.
//!
//! Their names and attributes are those of gRPC's A72 and of OpenTelemetry's conventions for RPC.
//! Metadata and messages are in none of them: they may be secrets of somebody's.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use evenkeel_tokio::core::{Because, Code, Micros};
use tonic::Status;
use tracing::field::Empty;
use tracing::{Dispatch, Id, Span};

use super::ending::{Ending, Kind};
use super::view::{Names, View};

/// The span of a call: its attempts are its children.
pub(super) fn call(names: &Names) -> Span {
    tracing::info_span!(
        target: "evenkeel",
        "call",
        "otel.name" = &*names.sent,
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "rpc.system.name" = "grpc",
        "rpc.method" = &*names.method,
        "server.address" = names.address.as_deref(),
        "rpc.status_code" = Empty,
        "error.type" = Empty,
        "error.message" = Empty,
        "status" = Empty,
        "origin" = Empty,
    )
}

/// The span of an attempt.
pub(super) fn attempt(
    call: &Span,
    names: &Names,
    target: &str,
    previous: u16,
    transparent: bool,
    hedge: bool,
) -> Span {
    tracing::info_span!(
        target: "evenkeel",
        parent: call,
        "attempt",
        "otel.name" = &*names.attempt,
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "rpc.system.name" = "grpc",
        "rpc.method" = &*names.method,
        "target" = target,
        "previous-rpc-attempts" = previous,
        "transparent-retry" = transparent,
        "hedge" = hedge,
        "rpc.status_code" = Empty,
        "error.type" = Empty,
    )
}

/// Says on `span` how its attempt ended.
pub(super) fn end_attempt(span: &Span, code: Code) {
    record_code(span, code, code != Code::Ok);
}

/// Says on `span` how its call ended.
pub(super) fn end_call(span: &Span, view: &View, ending: &Ending, status: Option<&Status>) {
    let failed = ending.is_failure();
    record_code(span, ending.code, failed || ending.kind == Kind::Cancelled);
    span.record("status", ending.kind.name());
    if failed {
        span.record("origin", ending.origin());
    }
    if let Some(status) = status.filter(|_| ending.is_a_fault() && !view.sensitive) {
        span.record("error.message", status.message());
    }
}

fn record_code(span: &Span, code: Code, failed: bool) {
    span.record("rpc.status_code", code.name());
    if failed {
        span.record("error.type", code.name());
        // A caller who left is no error of anybody's.
        if code != Code::Cancelled {
            span.record("otel.status_code", "ERROR");
        }
    }
}

/// The event of a retry that was decided on, after `attempts` of which the last ended in `code`.
pub(super) fn retry(
    span: &Span,
    view: &View,
    code: Option<Code>,
    attempts: u16,
    wait: Micros,
    because: Because,
) {
    let because = match because {
        // Where a method is hedged there is no backoff to wait for: a failure brings it forward.
        Because::Backoff if view.hedged => "hedge",
        Because::Backoff => "backoff",
        Because::Hint => "hint",
        Because::Pushback => "pushback",
        Because::Transparent => "transparent",
    };
    // With its unit: 103.604ms.
    let wait = wait.as_duration();
    let (upstream, code) = (view.names.address.as_deref(), code.map(Code::name));
    tracing::info!(
        target: "evenkeel", parent: span, upstream, code, attempts, because, ?wait, "retry",
    );
}

/// The event of a further attempt that was not made, after `attempts` of which the last ended in
/// `code`; with which limit of its time was up, where one was.
pub(super) fn denied(
    span: &Span,
    names: &Names,
    code: Option<Code>,
    attempts: u16,
    (reason, limit): (&'static str, Option<&'static str>),
) {
    let (upstream, code) = (names.address.as_deref(), code.map(Code::name));
    tracing::info!(
        target: "evenkeel", parent: span, upstream, code, attempts, reason, limit, "retry denied",
    );
}

/// The event of an attempt that goes out beside those under way, after `attempts` of the call.
pub(super) fn hedge(span: &Span, names: &Names, attempts: u16) {
    let upstream = names.address.as_deref();
    tracing::info!(target: "evenkeel", parent: span, upstream, attempts, "hedge");
}

/// The event of a call that ends without an attempt, because of something of ours.
pub(super) fn not_sent(span: &Span, names: &Names, ending: &Ending, reason: &'static str) {
    let (upstream, code) = (names.address.as_deref(), ending.code.name());
    let limit = ending.limit;
    tracing::info!(target: "evenkeel", parent: span, upstream, code, reason, limit, "not sent");
}

/// A span whose subscriber may panic at every step: neither to enter it, nor to leave it, nor to
/// let go of it is the call's fault. (A plain one, dropped while such a panic unwinds, aborts.)
#[derive(Debug)]
pub(crate) struct Scope {
    span: Span,
}

impl Scope {
    /// None at all.
    pub(crate) const NONE: Self = Self { span: Span::none() };

    pub(super) fn of(span: Option<Span>) -> Self {
        span.map_or(Self::NONE, |span| Self { span })
    }

    /// What to record in, and to be a parent.
    pub(super) const fn span(&self) -> &Span {
        &self.span
    }

    /// The same span once more.
    pub(super) fn again(&self) -> Self {
        Self::of(catch_unwind(AssertUnwindSafe(|| self.span.clone())).ok())
    }

    /// Whether there is nothing to enter.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.span.is_none()
    }

    /// It is the current one until what is returned is dropped.
    pub(crate) fn enter(&self) -> Entered<'_> {
        step(&self.span, |id, dispatch| dispatch.enter(id));
        Entered { span: &self.span }
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if !self.is_none() {
            let span = core::mem::replace(&mut self.span, Span::none());
            _ = catch_unwind(AssertUnwindSafe(|| drop(span)));
        }
    }
}

/// See [`Scope::enter`].
pub(crate) struct Entered<'a> {
    span: &'a Span,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        step(self.span, |id, dispatch| dispatch.exit(id));
    }
}

fn step(span: &Span, step: impl FnOnce(&Id, &Dispatch)) {
    span.with_subscriber(|(id, dispatch)| {
        _ = catch_unwind(AssertUnwindSafe(|| step(id, dispatch)));
    });
}
