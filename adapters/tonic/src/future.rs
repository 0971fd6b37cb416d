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
use crate::reading::{Ahead, Read, Reading};
use crate::request::{Head, Payload};
use crate::stream::StreamBody;

pin_project! {
    /// The future of a call through [`Resilient`](crate::Resilient).
    #[must_use = "a future does nothing unless polled"]
    pub struct ResponseFuture<S: Service<Request<Body>>> {
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
        Reading { flow: Option<Flow<S>>, head: Option<Request<()>>, reading: Reading },
        /// The request is complete.
        Ready { flow: Option<Flow<S>>, request: Option<Request<Body>> },
        First {
            flow: Option<Flow<S>>,
            attempt: Option<Attempt>,
            #[pin]
            sending: Sending<S>,
        },
        Boxed { rest: Pin<Box<dyn Future<Output = Answer<S>> + Send>> },
        Done,
    }
}

impl<S: Service<Request<Body>>> ResponseFuture<S> {
    pub(crate) const fn passing(inner: S, request: Request<Body>) -> Self {
        Self { stage: Stage::Passing { inner, request: Some(request) } }
    }

    pub(crate) const fn refused(status: Status) -> Self {
        Self { stage: Stage::Refused { status: Some(status) } }
    }

    /// A call whose request is sent once.
    pub(crate) const fn once(flow: Flow<S>, request: Request<Body>) -> Self {
        Self { stage: Stage::Ready { flow: Some(flow), request: Some(request) } }
    }

    /// A call whose request may be needed again.
    pub(crate) const fn reading(flow: Flow<S>, head: Request<()>, reading: Reading) -> Self {
        Self { stage: Stage::Reading { flow: Some(flow), head: Some(head), reading } }
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
        let mut stage = self.project().stage;
        loop {
            let next = match stage.as_mut().project() {
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
                    stage.set(Stage::Done);
                    return Poll::Ready(response.map(|r| r.map(Body::new)).map_err(transport));
                }
                StageProjection::Refused { status } => {
                    let Some(status) = status.take() else { return Poll::Pending };
                    stage.set(Stage::Done);
                    return Poll::Ready(Err(status));
                }
                StageProjection::Reading { flow, head, reading } => {
                    let read = ready!(reading.poll(cx));
                    let (Some(flow), Some(head)) = (flow.take(), head.take()) else {
                        return Poll::Pending;
                    };
                    ready_to_send(flow, head, read)
                }
                StageProjection::Ready { flow, request } => {
                    let (Some(flow), Some(request)) = (flow.take(), request.take()) else {
                        return Poll::Pending;
                    };
                    begin(flow, request)
                }
                StageProjection::First { flow, attempt, sending } => {
                    let ended = ready!(sending.poll(cx));
                    let (Some(mut flow), Some(attempt)) = (flow.take(), attempt.take()) else {
                        return Poll::Pending;
                    };
                    match flow.conclude(attempt, ended) {
                        Concluded::Over(result) => {
                            stage.set(Stage::Done);
                            return Poll::Ready(result.map(whole));
                        }
                        Concluded::Stream(response, attempt) => {
                            stage.set(Stage::Done);
                            return Poll::Ready(Ok(StreamBody::watch(response, flow, attempt)));
                        }
                        Concluded::Again => Stage::Boxed { rest: Box::pin(drive(flow, None)) },
                        Concluded::WaitReady(attempt) => {
                            Stage::Boxed { rest: Box::pin(drive(flow, Some(attempt))) }
                        }
                    }
                }
                StageProjection::Boxed { rest } => {
                    let answer = ready!(rest.as_mut().poll(cx));
                    stage.set(Stage::Done);
                    return Poll::Ready(match answer {
                        Answer::Over(result) => result.map(whole),
                        Answer::Stream(response, attempt, flow) => {
                            Ok(StreamBody::watch(response, flow, attempt))
                        }
                    });
                }
                // Polled after it was ready: nothing will ever come.
                StageProjection::Done => return Poll::Pending,
            };
            stage.set(next);
        }
    }
}

/// The message has been read: what it turned out to be decides whether it can be given again.
fn ready_to_send<S: Service<Request<Body>>>(
    mut flow: Flow<S>,
    head: Request<()>,
    read: Read,
) -> Stage<S> {
    let (parts, ()) = head.into_parts();
    let payload = match read {
        Read::Failed(status) => return Stage::Refused { status: Some(status) },
        Read::Message(message) => Payload::Message(message),
        Read::Other(body, Ahead::Nothing) => Payload::stream(body),
        Read::Other(body, Ahead::Something) => {
            flow.driven.call_mut().forbid_repeats();
            let request = Request::from_parts(parts, body);
            return Stage::Ready { flow: Some(flow), request: Some(request) };
        }
    };
    let kept = Head::of(&parts);
    let request = Request::from_parts(parts, payload.give());
    flow.again = Some((kept, payload));
    Stage::Ready { flow: Some(flow), request: Some(request) }
}

/// Makes the first attempt, if the machine lets it out.
fn begin<S, B>(mut flow: Flow<S>, request: Request<Body>) -> Stage<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    match flow.poll() {
        Step::Attempt(attempt) => {
            let sending = Sending::new(flow.inner.clone(), request, &attempt, flow.hold());
            Stage::First { flow: Some(flow), attempt: Some(attempt), sending }
        }
        Step::Over(status) => Stage::Refused { status: Some(status) },
        Step::WaitUntil(_) => Stage::Boxed { rest: Box::pin(drive(flow, None)) },
    }
}

fn whole(response: Response<Held>) -> Response<Body> {
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
