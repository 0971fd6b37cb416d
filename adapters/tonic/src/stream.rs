//! This file knows a response whose body goes on: the attempt, its permit and its deadline move
//! into it, and the verdict comes with its last frame.
//!
//! A stream holds a breaker's trial to its end. Dropped before, it is no verdict and the permit
//! goes back at once. With the opt-in a broken stream begins anew, in whole messages, from the
//! start.
//!
//! A reader may come back when the deadline is over. If what it did not wait for is there by then, the
//! call has ended all the same, and it is no verdict: who was late was not the server.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_tokio::core::{Attempt, Clock, Code, CodeSet};
use evenkeel_tokio::{SleepUntil, TokioClock, sleep_until};
use http::Response;
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use tonic::Status;
use tonic::body::Body;

use crate::TransportError;
use crate::attempt::{Ended, in_headers};
use crate::below::{Below, Turns, watched};
use crate::drive::{Answer, drive};
use crate::flow::{Concluded, Flow};
use crate::held::Held;
use crate::messages::Whole;
use crate::restart::{Restart, other_encoding};
use crate::warn::named;
use crate::wire::status;

/// The body of a response that was handed over before its end.
pub(crate) struct StreamBody<S, const IN_FLIGHT: usize = 1> {
    stage: Stage<S, IN_FLIGHT>,
    /// The status in the headers, before this body.
    in_headers: Option<Code>,
    /// Made when a frame is first waited for.
    timer: Option<Pin<Box<SleepUntil>>>,
    restart: Option<Restart>,
    turns: Turns,
}

#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, in a box already")]
enum Stage<S, const IN_FLIGHT: usize> {
    Open { body: Body, flow: Flow<S, IN_FLIGHT>, attempt: Attempt },
    Restarting(Pin<Box<dyn Future<Output = Answer<S, IN_FLIGHT>> + Send>>),
    Settled,
}

/// A frame of a body, or what there was instead; as bodies give it, so that a message is moved no
/// more often than it must be.
type Polled = Option<Result<Frame<Bytes>, Status>>;

/// Nothing of the service is ever pinned here.
impl<S, const IN_FLIGHT: usize> Unpin for StreamBody<S, IN_FLIGHT> {}

impl<S: Below, const IN_FLIGHT: usize> StreamBody<S, IN_FLIGHT> {
    /// The response with its body watched to the end.
    pub(crate) fn watch(
        response: Response<Body>,
        mut flow: Flow<S, IN_FLIGHT>,
        attempt: Attempt,
    ) -> Response<Body> {
        let restarts = flow.driven.upstream().method().restarts;
        let restart = restarts.then(|| Restart::of(response.headers()));
        if restart.is_none() {
            // The caller has the headers: what follows cannot be taken back.
            flow.driven.call_mut().forbid_repeats();
        }
        let in_headers = in_headers(&response);
        response.map(|body| {
            let stage = Stage::Open { body, flow, attempt };
            let turns = Turns::default();
            // Boxed here, because tonic would put a layer around it that only looks at errors.
            Body::new(UnsyncBoxBody::new(Self { stage, in_headers, timer: None, restart, turns }))
        })
    }

    /// Goes on where it is more than to give a message on.
    #[inline(never)]
    fn go_on(&mut self, mut polled: Poll<Polled>, cx: &mut Context<'_>) -> Poll<Polled> {
        loop {
            let last = match (&mut self.stage, polled) {
                (Stage::Settled, _) => return Poll::Ready(None),
                (Stage::Restarting(future), _) => {
                    let answer = ready!(future.as_mut().poll(cx));
                    self.resume(answer)
                }
                (Stage::Open { .. }, Poll::Pending) => {
                    ready!(self.poll_deadline(cx));
                    // It may only have been the turn of others.
                    polled = self.poll_open(cx);
                    if polled.is_ready() {
                        continue;
                    }
                    self.settle(Ended::CutOff)
                }
                (Stage::Open { .. }, Poll::Ready(Some(Ok(frame)))) if frame.is_data() => {
                    if self.is_late() {
                        self.excuse();
                        self.settle(Ended::CutOff)
                    } else {
                        self.give_on(frame).map(Ok)
                    }
                }
                (Stage::Open { .. }, Poll::Ready(last)) => {
                    let ended = ended(last, self.in_headers);
                    if !blames(&ended) {
                        self.excuse();
                    }
                    self.settle(ended)
                }
            };
            if last.is_some() {
                return Poll::Ready(last);
            }
            polled = self.poll_open(cx);
        }
    }

    /// Waits for the deadline, while nothing else comes.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Stage::Open { attempt, .. } = &self.stage else { return Poll::Pending };
        let deadline = attempt.deadline();
        if deadline.is_none() {
            return Poll::Pending;
        }
        let at = deadline.instant();
        self.timer.get_or_insert_with(|| Box::pin(sleep_until(at))).as_mut().poll(cx)
    }

    /// What is there does not speak against the server, should the deadline be over.
    fn excuse(&mut self) {
        if let Stage::Open { flow, attempt, .. } = &mut self.stage {
            flow.driven.call_mut().excuse(attempt);
        }
    }

    /// Books the end of the open body and says what the caller sees of it.
    fn settle(&mut self, ended: Ended) -> Polled {
        let Stage::Open { mut flow, attempt, .. } =
            core::mem::replace(&mut self.stage, Stage::Settled)
        else {
            return None;
        };
        self.timer = None;
        match flow.conclude(attempt, ended) {
            Concluded::Over(result) => Some(result.map(last_frame)),
            Concluded::Again | Concluded::Stream(..) => {
                self.stage = Stage::Restarting(Box::pin(drive(flow, None)));
                None
            }
            Concluded::WaitReady(attempt) => {
                self.stage = Stage::Restarting(Box::pin(drive(flow, Some(attempt))));
                None
            }
        }
    }

    /// Goes on with the stream that was started anew.
    fn resume(&mut self, answer: Answer<S, IN_FLIGHT>) -> Polled {
        self.stage = Stage::Settled;
        match answer {
            Answer::Over(result) => Some(result.map(last_frame)),
            Answer::Stream(response, attempt, mut flow) => {
                if !self.restart.as_mut()?.begin_anew(response.headers()) {
                    let status = other_encoding(flow.said());
                    flow.over(Err(&status));
                    return Some(Err(status));
                }
                let upstream = flow.driven.upstream();
                tracing::warn!(
                    target: "evenkeel",
                    upstream = named(&upstream.settings().target),
                    method = &*upstream.method().path,
                    "a response stream broke and was started anew: items repeat",
                );
                self.in_headers = in_headers(&response);
                let body = response.into_body();
                self.stage = Stage::Open { body, flow, attempt };
                None
            }
        }
    }

    /// What of a data frame can be given on now.
    fn give_on(&mut self, frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
        let Some(restart) = &mut self.restart else { return Some(frame) };
        let Ok(data) = frame.into_data() else { return None };
        match restart.messages.push(data) {
            Whole::Messages(messages) => messages.map(Frame::data),
            Whole::TooLong(bytes) => {
                self.restart = None;
                if let Stage::Open { flow, .. } = &mut self.stage {
                    flow.driven.call_mut().forbid_repeats();
                }
                Some(Frame::data(bytes))
            }
        }
    }
}

impl<S: Below, const IN_FLIGHT: usize> http_body::Body for StreamBody<S, IN_FLIGHT> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Polled> {
        let this = self.get_mut();
        let mut polled = this.poll_open(cx);
        // One variable, looked at where it is: a frame is large, and moving it costs every message.
        if !this.passes(&polled) {
            polled = this.go_on(polled, cx);
        }
        polled
    }

    /// Not before it is settled: a body that says it is at its end is never polled again, and the
    /// attempt would look like one that was walked away from.
    fn is_end_stream(&self) -> bool {
        matches!(self.stage, Stage::Settled)
    }
}

impl<S, const IN_FLIGHT: usize> StreamBody<S, IN_FLIGHT> {
    /// Polls the open body; `Pending` where there is none.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Polled> {
        let poll = |open: &mut Self| match &mut open.stage {
            Stage::Open { body, .. } => open.turns.poll_frame(body, cx),
            Stage::Restarting(_) | Stage::Settled => Poll::Pending,
        };
        watched(self, poll, |open| {
            let stage = core::mem::replace(&mut open.stage, Stage::Settled);
            if let Stage::Open { mut flow, attempt, .. } = stage {
                flow.panicked(attempt);
            }
        })
    }

    /// Whether this is a message that is given on as it is.
    fn passes(&mut self, polled: &Poll<Polled>) -> bool {
        matches!(polled, Poll::Ready(Some(Ok(frame))) if frame.is_data())
            && self.restart.is_none()
            && !self.is_late()
    }

    /// Whether the message that has just come is too late.
    fn is_late(&mut self) -> bool {
        let Stage::Open { flow, attempt, .. } = &mut self.stage else { return false };
        let deadline = attempt.deadline();
        if deadline.is_none() {
            // Nobody else says that a trial without a deadline is still under way.
            _ = flow.driven.poll();
            return false;
        }
        deadline.is_over(TokioClock.now())
    }
}

/// How a body ended whose last word this was.
fn ended(last: Polled, in_headers: Option<Code>) -> Ended {
    let trailers = match last {
        Some(Ok(frame)) => frame.into_trailers().ok(),
        Some(Err(error)) => return Ended::Lost(TransportError::in_body(error)),
        None => None,
    };
    let code = status::of_trailers(trailers.as_ref(), || in_headers);
    Ended::Complete { code, held: Held::ended(trailers) }
}

/// Whether this end speaks against the server also where it is found too late. A server that gives
/// up at our deadline says `CANCELLED`.
const fn blames(ended: &Ended) -> bool {
    match ended {
        Ended::Complete { code, .. } => CodeSet::FAILURES.with(Code::Cancelled).contains(*code),
        _ => true,
    }
}

/// The trailers of a stream that ended well; where it ended in its headers, these.
fn last_frame(held: Held) -> Frame<Bytes> {
    Frame::trailers(held.into_last())
}
