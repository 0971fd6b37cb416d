//! This file knows the healthy call: one future without a box, from the request to the response.
//!
//! It reads the message, makes the first attempt, and is done. Only when that fails, or must wait,
//! does the boxed loop of `drive` take over; both drive the same machine.

use core::fmt;
use core::mem::replace;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_tokio::core::Attempt;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::attempt::{Ended, Sending};
use crate::below::{Below, watched};
use crate::drive::{Answer, drive};
use crate::error::BoxError;
use crate::flow::{Concluded, Flow, Step};
use crate::reading::{Read, Reading};
use crate::request::Payload;
use crate::stream::StreamBody;
use crate::wire;

/// A call that is driven in a box.
pub(crate) type Rest = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

pin_project! {
    /// The future of a call through [`Resilient`](crate::Resilient).
    #[must_use = "a future does nothing unless polled"]
    pub struct ResponseFuture<S: Service<Request<Body>>> {
        // Both beside the stages, not in them: they are large, and each stage would move them to
        // the next.
        flow: Option<Flow<S>>,
        #[pin]
        sending: Option<Sending<S>>,
        stage: Stage,
    }
}

enum Stage {
    /// There is nothing to do but to send it.
    Passing,
    /// Over before anything was sent.
    Refused(Status),
    /// The message is read, where it may be needed again.
    Reading(Reading),
    /// The request is complete.
    Ready,
    First(Attempt),
    Boxed(Rest),
    Done,
}

impl<S: Service<Request<Body>>> ResponseFuture<S> {
    pub(crate) fn passing(inner: S, request: Request<Body>) -> Self {
        let sending = Some(Sending::passing(inner, request));
        Self { flow: None, sending, stage: Stage::Passing }
    }

    pub(crate) const fn refused(status: Status) -> Self {
        Self { flow: None, sending: None, stage: Stage::Refused(status) }
    }

    /// A call that is driven in a box from the beginning.
    pub(crate) fn boxed(rest: Rest) -> Self {
        Self { flow: None, sending: None, stage: Stage::Boxed(rest) }
    }

    /// A call whose request is sent once.
    #[inline(always)]
    pub(crate) fn once(flow: Flow<S>, request: Request<Body>) -> Self {
        let sending = Some(Sending::of(request));
        Self { flow: Some(flow), sending, stage: Stage::Ready }
    }

    /// A call whose request may be needed again. Inlined, or it would be moved into its place.
    #[inline(always)]
    pub(crate) fn reading(flow: Flow<S>, request: Request<Body>, reading: Reading) -> Self {
        let sending = Some(Sending::of(request));
        Self { flow: Some(flow), sending, stage: Stage::Reading(reading) }
    }
}

impl<S, B> Future for ResponseFuture<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<Body>, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let this = self.as_mut().project();
            let (flow, mut sending, stage) = (this.flow, this.sending, this.stage);
            let result = match stage {
                Stage::Passing => {
                    let Some(passing) = sending.as_mut().as_pin_mut() else { break Poll::Pending };
                    let response = ready!(passing.poll_response(cx));
                    response.map(harmless).map_err(unsent)
                }
                Stage::Reading(reading) => {
                    let request = sending.as_mut().as_pin_mut().and_then(Sending::request);
                    let Some((first, request)) = flow.as_mut().zip(request) else {
                        break Poll::Pending;
                    };
                    let read = ready!(reading.poll(request.body_mut(), cx));
                    *stage = match complete(first, request, read) {
                        Ok(()) => begin(flow, sending),
                        Err(status) => Stage::Refused(status),
                    };
                    continue;
                }
                Stage::Ready => {
                    *stage = begin(flow, sending);
                    continue;
                }
                Stage::First(_) => match ready!(poll_first(flow, sending.as_mut(), stage, cx)) {
                    None => {
                        let held = sending.as_mut().as_pin_mut().and_then(Sending::held);
                        let Some(held) = held else { break Poll::Pending };
                        Ok(held.give_on())
                    }
                    Some(Concluded::Over(result)) => result.map(|mut held| held.give_on()),
                    Some(Concluded::Stream(response, attempt)) => {
                        let Some(flow) = flow.take() else { break Poll::Pending };
                        Ok(StreamBody::watch(response, flow, attempt))
                    }
                    Some(Concluded::Again) => {
                        sending.set(None);
                        *stage = driven_on(flow, None);
                        continue;
                    }
                    Some(Concluded::WaitReady(attempt)) => {
                        sending.set(None);
                        *stage = driven_on(flow, Some(attempt));
                        continue;
                    }
                },
                Stage::Boxed(rest) => ready!(rest.as_mut().poll(cx)),
                Stage::Refused(_) => match replace(stage, Stage::Done) {
                    Stage::Refused(status) => Err(status),
                    _ => break Poll::Pending,
                },
                // Polled after it was ready: nothing will ever come.
                Stage::Done => break Poll::Pending,
            };
            sending.set(None);
            *flow = None;
            *stage = Stage::Done;
            break Poll::Ready(result);
        }
    }
}

/// The message has been read: what it turned out to be decides whether it can be given again.
fn complete<S>(flow: &mut Flow<S>, request: &mut Request<Body>, read: Read) -> Result<(), Status> {
    let payload = match read {
        Read::Failed(status) => {
            flow.over(Err(&status));
            return Err(status);
        }
        Read::Message(message) => Payload::Message(message),
        Read::Other(body) => Payload::stream(body),
    };
    flow.keep(request, payload);
    Ok(())
}

/// Makes the first attempt, if the machine lets it out.
fn begin<S: Below>(flow: &mut Option<Flow<S>>, mut sending: Pin<&mut Option<Sending<S>>>) -> Stage {
    let Some((first, going)) = flow.as_mut().zip(sending.as_mut().as_pin_mut()) else {
        return Stage::Done;
    };
    match first.poll() {
        Step::Attempt(attempt) => {
            going.begin(first, &attempt);
            Stage::First(attempt)
        }
        Step::Over(status) => Stage::Refused(status),
        Step::WaitUntil(_) => {
            // Sent once it may be, it would else be gone with this future.
            if let (false, Some(request)) = (first.keeps(), going.request()) {
                first.lend(request);
            }
            sending.set(None);
            driven_on(flow, None)
        }
    }
}

/// What follows the end of the first attempt; `None` where it succeeded and its response is held.
fn poll_first<S: Below>(
    flow: &mut Option<Flow<S>>,
    sending: Pin<&mut Option<Sending<S>>>,
    stage: &mut Stage,
    cx: &mut Context<'_>,
) -> Poll<Option<Concluded>> {
    let Some((flow, mut sending)) = flow.as_mut().zip(sending.as_pin_mut()) else {
        return Poll::Pending;
    };
    let mut first = (flow, stage);
    let polled = watched(
        &mut first,
        |_| sending.as_mut().poll_end(cx),
        |(flow, stage)| {
            if let Stage::First(attempt) = replace(*stage, Stage::Done) {
                flow.panicked(attempt);
            }
        },
    );
    let ended = match polled {
        Poll::Ready(ended) => ended,
        Poll::Pending => {
            ready!(sending.poll_deadline(cx));
            Some(Ended::CutOff)
        }
    };
    let (flow, stage) = first;
    let Stage::First(attempt) = replace(stage, Stage::Done) else { return Poll::Pending };
    Poll::Ready(match ended {
        None => flow.succeed(attempt),
        Some(ended) => Some(flow.conclude(attempt, ended)),
    })
}

/// What the healthy path leaves over, in a box.
fn driven_on<S: Below>(flow: &mut Option<Flow<S>>, unsent: Option<Attempt>) -> Stage {
    match flow.take() {
        Some(flow) => {
            let rest = async move { answered(drive(flow, unsent).await) };
            Stage::Boxed(Box::pin(rest))
        }
        None => Stage::Done,
    }
}

/// What the caller gets of a driven call.
pub(crate) fn answered<S: Below>(answer: Answer<S>) -> Result<Response<Body>, Status> {
    match answer {
        Answer::Over(result) => result.map(|mut held| held.give_on()),
        Answer::Stream(response, attempt, flow) => Ok(StreamBody::watch(response, flow, attempt)),
    }
}

/// The response to a call that only passes through. Of it only the headers are looked at: to see the
/// trailers there would have to be something around the body.
fn harmless<B>(mut response: Response<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    wire::defuse(response.headers_mut());
    response.map(Body::new)
}

/// The error of a call that only passes through: whatever it is, nobody here made it.
fn unsent(ended: Ended) -> Status {
    match ended {
        Ended::Lost(error) => error.into(),
        // Never: it has no deadline, nothing is held, and nothing is caught.
        Ended::Complete { .. } | Ended::CutOff | Ended::Panicked(_) | Ended::Streaming(_) => {
            Status::unknown("the service below is gone")
        }
    }
}

impl<S: Service<Request<Body>>> fmt::Debug for ResponseFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
