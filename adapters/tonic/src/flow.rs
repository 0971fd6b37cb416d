//! This file knows one call from its first attempt to its last answer: the core's machine, the
//! request to give again, and what was said last. It decides nothing; it asks the machine.

use std::panic::resume_unwind;
use std::sync::Arc;

use evenkeel_tokio::core::{
    Action, Attempt, Clock, Code, Instant, Next, Outcome, Sent, StopReason,
};
use evenkeel_tokio::{Driven, TokioClock};
use http::{HeaderMap, Request, Response};
use tonic::Status;
use tonic::body::Body;

use crate::attempt::{Ended, Hold};
use crate::error::{
    BreakerKey, CircuitOpen, DeadlinePassed, NoHealthyTargets, Stopped, is_of_the_way,
};
use crate::held::Held;
use crate::request::{Head, Payload};
use crate::upstream::MethodUpstream;
use crate::wire::{pushback, status};

/// One call.
pub(crate) struct Flow<S> {
    pub(crate) inner: S,
    pub(crate) driven: Driven<MethodUpstream>,
    /// The request, where a second attempt may need it.
    pub(crate) again: Option<(Head, Payload)>,
    /// Whether attempts wait for a connection.
    pub(crate) waits: bool,
    /// The last that was said, by the server or about the way to it.
    last: Option<Status>,
    /// What the server had said before, where `last` is about the way to it.
    said: Option<Status>,
    /// Whether the last attempt was cut off by our own deadline.
    cut_off: bool,
}

/// The next thing to do.
pub(crate) enum Step {
    Attempt(Attempt),
    Over(Status),
    WaitUntil(Instant),
}

/// What follows the end of an attempt.
pub(crate) enum Concluded {
    /// The machine has more to say.
    Again,
    /// The call is over.
    Over(Result<Response<Held>, Status>),
    /// The response is handed over, and the attempt goes on in its body.
    Stream(Response<Body>, Attempt),
    /// Not connected, and the call waits for a connection: the same attempt goes out then.
    WaitReady(Attempt),
}

impl<S> Flow<S> {
    pub(crate) const fn new(inner: S, driven: Driven<MethodUpstream>, waits: bool) -> Self {
        Self { inner, driven, again: None, waits, last: None, said: None, cut_off: false }
    }

    /// The next action, with the end already worded.
    pub(crate) fn poll(&mut self) -> Step {
        match self.driven.poll() {
            Action::Attempt(attempt) => Step::Attempt(attempt),
            Action::WaitUntil(at) => Step::WaitUntil(at),
            Action::Finish(reason) => Step::Over(self.stopped_between(reason)),
        }
    }

    /// The request of one more attempt. The machine asks for none where there is none to give.
    pub(crate) fn request(&self) -> Request<Body> {
        match &self.again {
            Some((head, payload)) => head.request(payload.give()),
            None => Request::new(Body::empty()),
        }
    }

    /// Whether this call's responses are held until their status is known.
    pub(crate) fn hold(&self) -> Hold {
        if self.driven.upstream().method().holds { Hold::UntilStatus } else { Hold::No }
    }

    /// Books the end of `attempt` and says what follows.
    ///
    /// # Panics
    ///
    /// When the attempt did: dropped without a verdict it would pass for a caller who went away.
    pub(crate) fn conclude(&mut self, attempt: Attempt, ended: Ended) -> Concluded {
        let now = TokioClock.now();
        let too_late = attempt.deadline().is_over(now);
        match ended {
            Ended::Panicked(panic) => {
                self.driven.complete(now, attempt, Outcome::new(Code::Unknown));
                resume_unwind(panic)
            }
            Ended::Streaming(response) if !too_late => Concluded::Stream(response, attempt),
            Ended::Complete { code: Code::Ok, response } if !too_late => {
                self.driven.complete(now, attempt, Outcome::success());
                Concluded::Over(Ok(response))
            }
            Ended::Complete { code, response } if !too_late => {
                let outcome = Outcome::new(code).with_pushback(asked(&response));
                self.failed(now, attempt, outcome, refused(code, response))
            }
            Ended::Lost(error) if !too_late => {
                if self.waits && error.sent() == Sent::NotConnected && self.take_back() {
                    self.hear(Status::from(error));
                    return Concluded::WaitReady(attempt);
                }
                self.failed(now, attempt, error.outcome(), Status::from(error))
            }
            Ended::Complete { code, response } if code != Code::Ok => {
                self.hear(refused(code, response));
                self.cut_off(now, attempt)
            }
            Ended::Lost(error) => {
                self.hear(Status::from(error));
                self.cut_off(now, attempt)
            }
            Ended::Complete { .. } | Ended::CutOff | Ended::Streaming(_) => {
                self.cut_off(now, attempt)
            }
        }
    }

    /// Books an attempt that failed before its deadline.
    pub(crate) fn failed(
        &mut self,
        now: Instant,
        attempt: Attempt,
        outcome: Outcome,
        status: Status,
    ) -> Concluded {
        let left = attempt.deadline().remaining(now);
        if status::at_deadline(outcome.code, left) != outcome.code {
            // The server's timer, or tonic's, was faster than ours by a tick.
            return self.cut_off(now, attempt);
        }
        self.cut_off = false;
        self.hear(status);
        self.forbid_what_cannot_repeat(outcome.sent);
        match self.driven.complete(now, attempt, outcome) {
            Next::Stop(reason) => Concluded::Over(Err(self.stopped(reason))),
            Next::Retry { .. } | Next::StillTrying => Concluded::Again,
        }
    }

    /// Books an attempt that our own deadline ended.
    pub(crate) fn cut_off(&mut self, now: Instant, attempt: Attempt) -> Concluded {
        self.cut_off = true;
        let at = attempt.deadline().instant().max(now);
        self.forbid_what_cannot_repeat(Sent::Maybe);
        let outcome = Outcome::new(Code::DeadlineExceeded);
        match self.driven.complete(at, attempt, outcome) {
            Next::Stop(reason) => Concluded::Over(Err(self.stopped(reason))),
            Next::Retry { .. } | Next::StillTrying => Concluded::Again,
        }
    }

    /// Keeps what was said last. What the server said itself outlives a failure of the way to it.
    fn hear(&mut self, status: Status) {
        let before = self.last.replace(status);
        self.said = before.filter(|status| !is_of_the_way(status)).or_else(|| self.said.take());
    }

    /// The last the server said itself, or else what was said about the way to it.
    fn take_said(&mut self) -> Option<Status> {
        let (last, said) = (self.last.take(), self.said.take());
        if last.as_ref().is_some_and(is_of_the_way) { said.or(last) } else { last }
    }

    /// Whether the request can be given once more, now that the attempt that had it is over.
    fn take_back(&self) -> bool {
        self.again.as_ref().is_some_and(|(_, payload)| payload.take_back())
    }

    /// A response stream is repeated only with the opt-in, and a request only while it can be.
    fn forbid_what_cannot_repeat(&mut self, sent: Sent) {
        let method = self.driven.upstream().method();
        let streams = method.kind.is_some_and(|kind| kind.server_streaming());
        let committed = streams && !method.restarts && !sent.nothing_executed();
        if committed || !self.take_back() {
            self.driven.call_mut().forbid_repeats();
        }
    }

    /// The error of a call that stops with the end of an attempt.
    fn stopped(&mut self, reason: StopReason) -> Status {
        if self.cut_off {
            let passed = self.deadline_passed();
            return self.explained(passed, reason);
        }
        match self.last.take() {
            Some(status) => self.explained(status, reason),
            None => self.deadline_passed(),
        }
    }

    /// The error of a call that stops before it could make another attempt.
    fn stopped_between(&mut self, reason: StopReason) -> Status {
        match reason {
            StopReason::CircuitOpen { retry_at } => {
                let upstream = self.driven.upstream();
                let target = Arc::clone(&upstream.settings().target);
                let method = Arc::clone(&upstream.method().path);
                let key = BreakerKey { target, method };
                let attempts = self.driven.call().attempts();
                CircuitOpen { key, retry_at, attempts, last: self.take_said() }.into()
            }
            StopReason::NoTarget if self.last.is_none() => {
                let target = self.driven.upstream().settings().target.to_string();
                NoHealthyTargets { targets: vec![target] }.into()
            }
            _ => self.stopped(reason),
        }
    }

    /// The last error, with why it was the last.
    fn explained(&mut self, mut status: Status, reason: StopReason) -> Status {
        let attempts = self.driven.call().attempts();
        let own = core::error::Error::source(&status).is_some().then(|| status.clone());
        let last = self.said.take().filter(|_| is_of_the_way(&status));
        status.set_source(Arc::new(Stopped { reason, attempts, last, cause: own }));
        status
    }

    fn deadline_passed(&mut self) -> Status {
        let method = Arc::clone(&self.driven.upstream().method().path);
        let attempts = self.driven.call().attempts();
        DeadlinePassed { method, attempts, last: self.take_said() }.into()
    }
}

/// What a failed response asks for, in its trailers or, where these are the headers, there.
fn asked(response: &Response<Held>) -> evenkeel_tokio::core::Pushback {
    pushback::read(response.body().trailers().unwrap_or_else(|| response.headers()))
}

/// The status a failed response carries.
fn refused(code: Code, response: Response<Held>) -> Status {
    let http = response.status();
    let (parts, held) = response.into_parts();
    status_of(code, held.trailers().unwrap_or(&parts.headers), http)
}

/// The status in `headers`, or one that says what is missing.
pub(crate) fn status_of(code: Code, headers: &HeaderMap, http: http::StatusCode) -> Status {
    Status::from_header_map(headers).unwrap_or_else(|| {
        let message = if http == http::StatusCode::OK {
            "the response ended without a status".to_owned()
        } else {
            format!("the server answered HTTP {http} without a status")
        };
        Status::new(status::to_tonic(code), message)
    })
}
