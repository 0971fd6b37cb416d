//! This file knows the healthy call: one future without a box, from the request to the response.
//!
//! It reads the message, makes the first attempt, and is done. Only when that fails, or must wait,
//! does the boxed loop of `drive` take over; both drive the same machine.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_tokio::core::Attempt;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::TransportError;
use crate::attempt::Sending;
use crate::drive::{Answer, drive};
use crate::error::BoxError;
use crate::flow::{Concluded, Flow, Step};
use crate::held::Held;
use crate::reading::{Read, Reading};
use crate::request::{Head, Payload};
use crate::stream::StreamBody;

/// A call that is driven in a box.
pub(crate) type Rest = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

pin_project! {
    /// The future of a call through [`Resilient`](crate::Resilient).
    #[must_use = "a future does nothing unless polled"]
    pub struct ResponseFuture<S: Service<Request<Body>>> {
        // Beside the stages, not in them: it is large, and each stage would move it to the next.
        flow: Option<Flow<S>>,
        #[pin]
        stage: Stage<S>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<S: Service<Request<Body>>> {
        /// There is nothing to do but to send it.
        Passing { inner: S, request: Option<Request<Body>> },
        Passed { #[pin] response: S::Future },
        /// Over before anything was sent.
        Refused { status: Option<Status> },
        /// The message is read, where it may be needed again.
        Reading { head: Option<Request<()>>, reading: Reading },
        /// The request is complete.
        Ready { request: Option<Request<Body>> },
        First { attempt: Option<Attempt>, #[pin] sending: Sending<S> },
        Boxed { rest: Rest },
        Done,
    }
}

impl<S: Service<Request<Body>>> ResponseFuture<S> {
    pub(crate) const fn passing(inner: S, request: Request<Body>) -> Self {
        Self { flow: None, stage: Stage::Passing { inner, request: Some(request) } }
    }

    pub(crate) const fn refused(status: Status) -> Self {
        Self { flow: None, stage: Stage::Refused { status: Some(status) } }
    }

    /// A call that is driven in a box from the beginning.
    pub(crate) fn boxed(rest: Rest) -> Self {
        Self { flow: None, stage: Stage::Boxed { rest } }
    }

    /// A call whose request is sent once.
    pub(crate) const fn once(flow: Flow<S>, request: Request<Body>) -> Self {
        Self { flow: Some(flow), stage: Stage::Ready { request: Some(request) } }
    }

    /// A call whose request may be needed again.
    pub(crate) const fn reading(flow: Flow<S>, head: Request<()>, reading: Reading) -> Self {
        Self { flow: Some(flow), stage: Stage::Reading { head: Some(head), reading } }
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.stage.as_mut().project() {
                StageProjection::Passing { inner, request } => {
                    if let Err(error) = ready!(inner.poll_ready(cx)) {
                        let status = TransportError::not_ready(error).into();
                        Stage::Refused { status: Some(status) }
                    } else {
                        let Some(request) = request.take() else { return Poll::Pending };
                        Stage::Passed { response: inner.call(request) }
                    }
                }
                StageProjection::Passed { response } => {
                    let response = ready!(response.poll(cx));
                    this.stage.set(Stage::Done);
                    return Poll::Ready(response.map(|r| r.map(Body::new)).map_err(transport));
                }
                StageProjection::Refused { status } => {
                    let Some(status) = status.take() else { return Poll::Pending };
                    this.stage.set(Stage::Done);
                    return Poll::Ready(Err(status));
                }
                StageProjection::Reading { head, reading } => {
                    let read = ready!(reading.poll(cx));
                    let (Some(flow), Some(head)) = (this.flow.as_mut(), head.take()) else {
                        return Poll::Pending;
                    };
                    match ready_to_send(flow, head, read) {
                        Ok(request) => begin(this.flow, request),
                        Err(status) => Stage::Refused { status: Some(status) },
                    }
                }
                StageProjection::Ready { request } => {
                    let Some(request) = request.take() else { return Poll::Pending };
                    begin(this.flow, request)
                }
                StageProjection::First { attempt, sending } => {
                    let ended = ready!(sending.poll(cx));
                    let (Some(flow), Some(attempt)) = (this.flow.as_mut(), attempt.take()) else {
                        return Poll::Pending;
                    };
                    let unsent = match flow.conclude(attempt, ended) {
                        Concluded::Over(result) => {
                            this.stage.set(Stage::Done);
                            *this.flow = None;
                            return Poll::Ready(result.map(whole));
                        }
                        Concluded::Stream(response, attempt) => {
                            this.stage.set(Stage::Done);
                            let Some(flow) = this.flow.take() else { return Poll::Pending };
                            return Poll::Ready(Ok(StreamBody::watch(response, flow, attempt)));
                        }
                        Concluded::Again => None,
                        Concluded::WaitReady(attempt) => Some(attempt),
                    };
                    driven_on(this.flow, unsent)
                }
                StageProjection::Boxed { rest } => {
                    let result = ready!(rest.as_mut().poll(cx));
                    this.stage.set(Stage::Done);
                    return Poll::Ready(result);
                }
                // Polled after it was ready: nothing will ever come.
                StageProjection::Done => return Poll::Pending,
            };
            this.stage.set(next);
        }
    }
}

/// The message has been read: what it turned out to be decides whether it can be given again.
fn ready_to_send<S>(
    flow: &mut Flow<S>,
    head: Request<()>,
    read: Read,
) -> Result<Request<Body>, Status> {
    let (parts, ()) = head.into_parts();
    let payload = match read {
        Read::Failed(status) => {
            flow.over(Err(&status));
            return Err(status);
        }
        Read::Message(message) => Payload::Message(message),
        Read::Other(body) => Payload::stream(body),
    };
    let body = payload.give();
    flow.again = Some((Head::of(&parts), payload));
    Ok(Request::from_parts(parts, body))
}

/// Makes the first attempt, if the machine lets it out.
fn begin<S, B>(flow: &mut Option<Flow<S>>, request: Request<Body>) -> Stage<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let Some(first) = flow else { return Stage::Done };
    match first.poll() {
        Step::Attempt(attempt) => {
            // Never missing: the upstream has just admitted it.
            let Some(inner) = first.driven.upstream().service(&attempt) else { return Stage::Done };
            let sending = Sending::new(inner, request, &attempt, first.hold());
            let sending = sending.within(first.driven.upstream().scope(&attempt));
            Stage::First { attempt: Some(attempt), sending }
        }
        Step::Over(status) => Stage::Refused { status: Some(status) },
        Step::WaitUntil(_) => driven_on(flow, None),
    }
}

/// What the healthy path leaves over, in a box.
fn driven_on<S, B>(flow: &mut Option<Flow<S>>, unsent: Option<Attempt>) -> Stage<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    match flow.take() {
        Some(flow) => {
            let rest = async move { answered(drive(flow, unsent).await) };
            Stage::Boxed { rest: Box::pin(rest) }
        }
        None => Stage::Done,
    }
}

/// What the caller gets of a driven call.
pub(crate) fn answered<S, B>(answer: Answer<S>) -> Result<Response<Body>, Status>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    match answer {
        Answer::Over(result) => result.map(whole),
        Answer::Stream(response, attempt, flow) => Ok(StreamBody::watch(response, flow, attempt)),
    }
}

pub(crate) fn whole(response: Response<Held>) -> Response<Body> {
    response.map(Held::into_body)
}

fn transport(error: impl Into<BoxError>) -> Status {
    TransportError::before_headers(error).into()
}

impl<S: Service<Request<Body>>> fmt::Debug for ResponseFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
