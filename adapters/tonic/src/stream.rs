//! This file knows a response whose body goes on: the attempt, its permit and its deadline move
//! into it, and the verdict comes with its last frame.
//!
//! A stream holds a breaker's trial to its end. Dropped before, it is no verdict and the permit
//! goes back at once. With the opt-in a broken stream begins anew, in whole messages, from the
//! start.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_tokio::core::{Attempt, Clock, Code};
use evenkeel_tokio::{SleepUntil, TokioClock, sleep_until};
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::TransportError;
use crate::attempt::{Ended, caught, in_headers, poll_frame};
use crate::drive::{Answer, drive};
use crate::error::BoxError;
use crate::flow::{Concluded, Flow};
use crate::held::Held;
use crate::messages::Whole;
use crate::restart::{Restart, other_encoding};
use crate::wire::{self, status};

/// The body of a response that was handed over before its end.
pub(crate) struct StreamBody<S, const IN_FLIGHT: usize = 1> {
    stage: Stage<S, IN_FLIGHT>,
    /// The status in the headers, before this body.
    in_headers: Option<Code>,
    /// Made when a frame is first waited for.
    timer: Option<Pin<Box<SleepUntil>>>,
    restart: Option<Restart>,
}

#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, in a box already")]
enum Stage<S, const IN_FLIGHT: usize> {
    Open { body: Body, flow: Flow<S, IN_FLIGHT>, attempt: Attempt },
    Restarting(Pin<Box<dyn Future<Output = Answer<S, IN_FLIGHT>> + Send>>),
    Settled,
}

/// What the open body had.
enum Polled {
    Data(Frame<Bytes>),
    Ended(Ended),
}

impl From<Ended> for Polled {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// Nothing of the service is ever pinned here.
impl<S, const IN_FLIGHT: usize> Unpin for StreamBody<S, IN_FLIGHT> {}

impl<S, B, const IN_FLIGHT: usize> StreamBody<S, IN_FLIGHT>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
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
            Body::new(Self { stage, in_headers, timer: None, restart })
        })
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Polled> {
        let Stage::Open { body, flow, attempt } = &mut self.stage else { return Poll::Pending };
        let (deadline, in_headers) = (attempt.deadline(), self.in_headers);
        let Poll::Ready(polled) = caught(|| poll_body(body, in_headers, cx)) else {
            if deadline.is_none() {
                return Poll::Pending;
            }
            let at = deadline.instant();
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            return timer.as_mut().poll(cx).map(|()| Polled::Ended(Ended::CutOff));
        };
        if deadline.is_none() {
            // Nobody else says that a trial without a deadline is still under way.
            _ = flow.driven.poll();
        }
        Poll::Ready(match polled {
            Polled::Data(_) if deadline.is_over(TokioClock.now()) => Polled::Ended(Ended::CutOff),
            polled => polled,
        })
    }

    /// Books the end of the open body and says what the caller sees of it.
    fn settle(&mut self, ended: Ended) -> Option<Result<Frame<Bytes>, Status>> {
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
    fn resume(&mut self, answer: Answer<S, IN_FLIGHT>) -> Option<Result<Frame<Bytes>, Status>> {
        self.stage = Stage::Settled;
        match answer {
            Answer::Over(result) => Some(result.map(last_frame)),
            Answer::Stream(response, attempt, mut flow) => {
                if !self.restart.as_mut()?.begin_anew(response.headers()) {
                    let status = other_encoding(flow.said());
                    flow.over(Err(&status));
                    return Some(Err(status));
                }
                let method = &*flow.driven.upstream().method().path;
                tracing::warn!(
                    target: "evenkeel",
                    method,
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

impl<S, B, const IN_FLIGHT: usize> http_body::Body for StreamBody<S, IN_FLIGHT>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        loop {
            let last = match &mut this.stage {
                Stage::Settled => return Poll::Ready(None),
                Stage::Restarting(future) => {
                    let answer = ready!(future.as_mut().poll(cx));
                    this.resume(answer)
                }
                Stage::Open { .. } => match ready!(this.poll_open(cx)) {
                    Polled::Data(frame) => match this.give_on(frame) {
                        Some(frame) => return Poll::Ready(Some(Ok(frame))),
                        None => continue,
                    },
                    Polled::Ended(ended) => this.settle(ended),
                },
            };
            if let Some(last) = last {
                return Poll::Ready(Some(last));
            }
        }
    }

    /// Not before it is settled: a body that says it is at its end is never polled again, and the
    /// attempt would look like one that was walked away from.
    fn is_end_stream(&self) -> bool {
        matches!(self.stage, Stage::Settled)
    }
}

fn poll_body(body: &mut Body, in_headers: Option<Code>, cx: &mut Context<'_>) -> Poll<Polled> {
    Poll::Ready(match ready!(poll_frame(body, cx)) {
        Some(Ok(frame)) => match frame.into_trailers() {
            Ok(trailers) => Polled::Ended(ended(Some(trailers), in_headers)),
            Err(data) => Polled::Data(data),
        },
        Some(Err(error)) => Polled::Ended(Ended::Lost(TransportError::in_body(error))),
        None => Polled::Ended(ended(None, in_headers)),
    })
}

fn ended(trailers: Option<HeaderMap>, in_headers: Option<Code>) -> Ended {
    let mut response = Response::new(Held::default());
    let code = status::of_trailers(trailers.as_ref(), in_headers);
    if let Some(mut trailers) = trailers {
        wire::defuse(&mut trailers);
        response.body_mut().end(trailers);
    }
    Ended::Complete { code, response }
}

/// The trailers of a stream that ended well; where it ended in its headers, these.
fn last_frame(response: Response<Held>) -> Frame<Bytes> {
    let (parts, mut held) = response.into_parts();
    Frame::trailers(held.take_trailers().unwrap_or(parts.headers))
}
