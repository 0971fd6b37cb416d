//! This file knows one call from its first attempt to its last answer: the core's machine, the
//! request to give again, and what was said last. It decides nothing; it asks the machine.

use std::panic::resume_unwind;

use evenkeel_tokio::core::{Action, Attempt, Clock, Code, Instant, Next, Outcome, Sent};
use evenkeel_tokio::{Driven, TokioClock};
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;

use crate::attempt::{Ended, Hold};
use crate::held::Held;
use crate::request::{Again, Payload};
use crate::upstream::{MethodUpstream, Reports, Unsent};
use crate::wire::{pushback, status};

mod stopped;

/// One call.
pub(crate) struct Flow<S, const IN_FLIGHT: usize = 1> {
    pub(crate) driven: Driven<MethodUpstream<S>, IN_FLIGHT>,
    /// The request, where a second attempt may need it.
    again: Again,
    /// Whether attempts wait for a connection.
    pub(crate) waits: bool,
    /// The last status a server sent.
    heard: Option<Status>,
    /// What a later attempt ended in without one.
    lost: Option<Status>,
    /// Whether the last attempt was cut off by our own deadline, and by which.
    cut_off: CutOff,
    /// Why it was not sent then, if it was not.
    unsent: Option<Box<Unsent>>,
}

/// Whose deadline ended an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CutOff {
    /// Its own, which was nearer than the call's.
    Attempt,
    Call,
    Not,
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
    Over(Result<Held, Status>),
    /// The response is handed over, and the attempt goes on in its body.
    Stream(Response<Body>, Attempt),
    /// Not connected, and the call waits for a connection: the same attempt goes out then.
    WaitReady(Attempt),
}

impl<S, const IN_FLIGHT: usize> Flow<S, IN_FLIGHT> {
    pub(crate) fn new(driven: Driven<MethodUpstream<S>, IN_FLIGHT>, waits: bool) -> Self {
        Self {
            driven,
            again: Again::nothing(),
            waits,
            heard: None,
            lost: None,
            cut_off: CutOff::Not,
            unsent: None,
        }
    }

    /// The next action, with the end already worded.
    pub(crate) fn poll(&mut self) -> Step {
        let status = match self.driven.poll() {
            Action::Attempt(attempt) => return Step::Attempt(attempt),
            Action::WaitUntil(at) => match self.nobody_will_come() {
                Some(status) => status,
                None => return Step::WaitUntil(at),
            },
            Action::Finish(reason) => self.stopped_between(reason),
        };
        self.over(Err(&status));
        Step::Over(status)
    }

    /// The request of one more attempt. The machine asks for none where there is none to give.
    pub(crate) fn request(&self) -> Request<Body> {
        self.again.request()
    }

    /// Lends the body of `request` to its first attempt, and keeps what another one needs.
    pub(crate) fn lend(&mut self, request: &mut Request<Body>) {
        let payload = Payload::stream(core::mem::take(request.body_mut()));
        self.keep(request, payload);
    }

    /// Gives the first attempt `payload` as the body of `request`, and keeps what another one needs.
    pub(crate) fn keep(&mut self, request: &mut Request<Body>, payload: Payload) {
        *request.body_mut() = payload.give();
        self.again.keep(request, payload);
    }

    /// Who tells of the connection `attempt` needs.
    pub(crate) fn reports(&self, attempt: &Attempt) -> Reports<S>
    where
        S: Clone + Send + 'static,
    {
        self.driven.upstream().reports(attempt)
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
        let left = attempt.deadline().remaining(now);
        match ended {
            Ended::Panicked(panic) => {
                self.panicked(attempt);
                resume_unwind(panic)
            }
            Ended::Streaming(response) if !left.is_zero() => Concluded::Stream(response, attempt),
            Ended::Complete { code: Code::Ok, held } => {
                self.succeed(attempt).unwrap_or(Concluded::Over(Ok(held)))
            }
            Ended::Complete { code, held } => {
                let outcome = Outcome::new(code).with_pushback(pushback::read(held.last()));
                self.heard = Some(held.status(code));
                self.lost = None;
                self.failed(now, attempt, outcome)
            }
            // The client has ended it with its connection, which no server is to blame for.
            Ended::Lost(error) if !left.is_zero() && self.driven.upstream().is_cut(&attempt) => {
                self.lost = Some(Status::from(error));
                self.driven.cancel();
                Concluded::Over(Err(self.closed()))
            }
            Ended::Lost(error) if !status::is_our_timer(error.code(), left) => {
                self.driven.upstream().lost(&attempt, &error);
                let outcome = error.outcome();
                self.lost = Some(Status::from(error));
                let unsent = outcome.sent == Sent::NotConnected && !left.is_zero();
                if self.waits && unsent && self.take_back() {
                    return Concluded::WaitReady(attempt);
                }
                self.failed(now, attempt, outcome)
            }
            Ended::CutOff | Ended::Lost(_) | Ended::Streaming(_) => self.cut_off(now, attempt),
        }
    }

    /// Books that `attempt` succeeded; what follows if it was too late.
    pub(crate) fn succeed(&mut self, attempt: Attempt) -> Option<Concluded> {
        let now = TokioClock.now();
        if attempt.deadline().is_over(now) {
            return Some(self.cut_off(now, attempt));
        }
        self.driven.complete(now, attempt, Outcome::success());
        self.over(Ok(()));
        None
    }

    /// Books that what is below panicked in `attempt`.
    pub(crate) fn panicked(&mut self, attempt: Attempt) {
        self.driven.complete(TokioClock.now(), attempt, Outcome::new(Code::Unknown));
        self.over(Err(&Status::unknown("the service below panicked")));
    }

    /// Books an attempt that failed, if that was not the deadline's doing.
    fn failed(&mut self, now: Instant, attempt: Attempt, outcome: Outcome) -> Concluded {
        if status::is_at_deadline(outcome.code, attempt.deadline().remaining(now)) {
            return self.cut_off(now, attempt);
        }
        self.cut_off = CutOff::Not;
        self.forbid_what_cannot_repeat(outcome.sent);
        let next = self.driven.complete(now, attempt, outcome);
        self.followed_by(now, next)
    }

    /// Books an attempt that our own deadline ended.
    pub(crate) fn cut_off(&mut self, now: Instant, attempt: Attempt) -> Concluded {
        self.unsent = self.driven.upstream().unsent(&attempt).map(Box::new);
        self.end_late(now, attempt)
    }

    /// Books one that waited for a connection until then.
    pub(crate) fn never_connected(&mut self, attempt: Attempt) -> Concluded {
        let unsent = self.driven.upstream().never_connected(&attempt, self.lost.as_ref());
        self.unsent = Some(Box::new(unsent));
        self.end_late(TokioClock.now(), attempt)
    }

    fn end_late(&mut self, now: Instant, attempt: Attempt) -> Concluded {
        let calls = self.driven.upstream().deadline();
        let is_calls = attempt.deadline().instant() >= calls.instant();
        self.cut_off = if is_calls { CutOff::Call } else { CutOff::Attempt };
        let at = attempt.deadline().instant().max(now);
        self.forbid_what_cannot_repeat(Sent::Maybe);
        let outcome = Outcome::new(Code::DeadlineExceeded);
        let next = self.driven.complete(at, attempt, outcome);
        self.followed_by(at, next)
    }

    fn followed_by(&mut self, now: Instant, next: Next) -> Concluded {
        if let Some(seen) = self.driven.upstream().seen() {
            seen.decided(now, next);
        }
        match next {
            Next::Stop(reason) => {
                let status = self.stopped(reason);
                self.over(Err(&status));
                Concluded::Over(Err(status))
            }
            Next::Retry { .. } | Next::StillTrying => Concluded::Again,
        }
    }

    /// Tells the call's record how it ended; the first word counts.
    pub(crate) fn over(&mut self, result: Result<(), &Status>) {
        self.driven.upstream_mut().over(result);
    }

    /// The same attempt again, elsewhere: it found no connection where it was to go.
    pub(crate) fn move_on(&mut self, attempt: Attempt) -> Concluded {
        let outcome = Outcome::unavailable().with_sent(Sent::Never);
        self.failed(TokioClock.now(), attempt, outcome)
    }

    /// Whether the request can be given once more, now that the attempt that had it is over.
    fn take_back(&self) -> bool {
        self.again.payload().is_some_and(Payload::take_back)
    }

    /// Whether it is kept at all.
    pub(crate) const fn keeps(&self) -> bool {
        self.again.payload().is_some()
    }

    /// A response stream is repeated only with the opt-in, or hedged until there is one; and a
    /// request only while it can be.
    fn forbid_what_cannot_repeat(&mut self, sent: Sent) {
        let method = self.driven.upstream().method();
        let streams = method.kind.is_some_and(|kind| kind.server_streaming());
        let repeats = method.restarts || method.hedged.is_some();
        let committed = streams && !repeats && !sent.nothing_executed();
        if !self.take_back() || committed {
            self.driven.call_mut().forbid_repeats();
        }
    }
}
