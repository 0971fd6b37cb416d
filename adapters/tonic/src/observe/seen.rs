//! This file knows the record of one call, from its beginning to its one end.
//!
//! It is told what happens and tells it on. Dropped before it heard how the call ended, the caller
//! went away: that is what a dropped future, and a stream nobody reads on, look like.

use std::sync::Arc;

use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::{Attempt, Clock, Code, Deadline, Instant, Next, Report, Target, Weight};
use tonic::Status;

use super::ending::Ending;
use super::flights::{Flight, Flights};
use super::spans::{self, Scope};
use super::tally::{Kind, Tally};
use super::view::View;

/// The record of one call.
#[derive(Debug)]
pub(crate) struct Seen {
    view: Arc<View>,
    began: Instant,
    scope: Scope,
    tally: Tally,
    flights: Flights,
    /// How the last attempt ended that did.
    last: Option<Code>,
    over: bool,
}

impl Seen {
    /// The record of a call that begins now; `None` where nobody looks.
    pub(crate) fn begin(view: Option<&Arc<View>>) -> Option<Box<Self>> {
        let view = Arc::clone(view?);
        let observing = &view.observing;
        let span = observing.spans.then(|| observing.sheltered(|| spans::call(&view.names)));
        if let Some(meters) = &view.meters {
            observing.sheltered(|| meters.began());
        }
        let scope = Scope::of(span.flatten());
        let (began, tally, flights) = (TokioClock.now(), Tally::default(), Flights::default());
        Some(Box::new(Self { view, began, scope, tally, flights, last: None, over: false }))
    }

    /// An attempt goes to `target`, which is called `name`.
    pub(crate) fn started(&mut self, now: Instant, deadline: Deadline, target: Target, name: &str) {
        let (kind, previous) = self.tally.start(now, self.view.hedged);
        let view = &self.view;
        if let Some(meters) = &view.meters {
            let left = (!deadline.is_none()).then(|| deadline.remaining(now));
            view.observing.sheltered(|| meters.started(left));
        }
        let (transparent, hedge) = (kind == Kind::Transparent, kind == Kind::Hedge);
        if view.observing.spans && self.tally.flies_beside() {
            let say = || spans::hedge(self.scope.span(), &view.names, previous);
            view.observing.sheltered(say);
        }
        let make =
            || spans::attempt(self.scope.span(), &view.names, name, previous, transparent, hedge);
        let span = view.observing.spans.then(|| view.observing.sheltered(make));
        let scope = Scope::of(span.flatten());
        self.flights.put(Flight { target, started: now, scope });
    }

    /// An attempt at `target` ended.
    pub(crate) fn ended(&mut self, now: Instant, target: Target, report: &Report) {
        self.tally.end(now, matches!(report.weight, Weight::Transparent));
        self.last = Some(report.outcome.code);
        if let Some(flight) = self.flights.take(now, target, report) {
            self.close(now, flight, report.outcome.code);
        }
    }

    /// A retry or a hedge was refused by the throttle.
    pub(crate) fn throttled(&self) {
        self.denied("budget", None);
    }

    /// What follows the end of an attempt.
    pub(crate) fn decided(&self, now: Instant, next: Next) {
        let Next::Retry { at, because } = next else { return };
        if self.view.observing.spans {
            let (wait, attempts) = (at.since(now), self.tally.counted());
            let (span, view, code) = (self.scope.span(), &self.view, self.last);
            let say = || spans::retry(span, view, code, attempts, wait, because);
            self.view.observing.sheltered(say);
        }
    }

    /// The span of `attempt`, to be polled in.
    pub(crate) fn scope(&self, attempt: &Attempt) -> Scope {
        self.flights.scope(attempt).map_or(Scope::NONE, Scope::again)
    }

    /// Runs something of ours that belongs to this call's span.
    pub(crate) fn within(&self, run: impl FnOnce()) {
        let _entered = self.scope.enter();
        self.view.observing.sheltered(run);
    }

    /// The call is over, which had its time of `limit`. The first word counts.
    pub(crate) fn over(&mut self, result: Result<(), &Status>, limit: Option<&'static str>) {
        self.end(Ending::of(result).within(limit), result.err());
    }

    fn end(&mut self, ending: Ending, status: Option<&Status>) {
        if core::mem::replace(&mut self.over, true) {
            return;
        }
        let now = TokioClock.now();
        while let Some(flight) = self.flights.pop() {
            // The call ended under it.
            self.tally.end(now, false);
            self.close(now, flight, Code::Cancelled);
        }
        // Of a client that never tries again, or of a call that was not even tried, nothing more
        // could have been wanted.
        if let Some(reason) = ending.denied.filter(|_| self.view.repeats && self.tally.tried()) {
            self.denied(reason, ending.limit);
        }
        let view = &self.view;
        if let Some(meters) = &view.meters {
            let took = now.since(self.began);
            view.observing.sheltered(|| meters.over(&ending, &self.tally, took));
        }
        let span = self.scope.span();
        let never_sent = ending.is_failure() && !self.tally.tried() && view.observing.spans;
        if let Some(reason) = ending.local.filter(|_| never_sent) {
            view.observing.sheltered(|| spans::not_sent(span, &view.names, &ending, reason));
        }
        view.observing.sheltered(|| spans::end_call(span, view, &ending, status));
    }

    fn close(&self, now: Instant, flight: Flight, code: Code) {
        let Flight { started, scope, .. } = flight;
        let view = &self.view;
        if let Some(meters) = &view.meters {
            view.observing.sheltered(|| meters.ended(code, now.since(started)));
        }
        view.observing.sheltered(|| spans::end_attempt(scope.span(), code));
    }

    fn denied(&self, reason: &'static str, limit: Option<&'static str>) {
        if let Some(meters) = &self.view.meters {
            self.view.observing.sheltered(|| meters.denied(reason));
        }
        if self.view.observing.spans {
            let (span, names, code) = (self.scope.span(), &self.view.names, self.last);
            let attempts = self.tally.counted();
            let say = || spans::denied(span, names, code, attempts, (reason, limit));
            self.view.observing.sheltered(say);
        }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.end(Ending::DROPPED, None);
    }
}
