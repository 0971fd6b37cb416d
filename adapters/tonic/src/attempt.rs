//! This file knows one attempt on the wire: readiness, headers, and where it is held, the body;
//! all of it under one deadline and one timer.

use core::any::Any;
use core::mem::take;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::panic::catch_unwind;

use bytes::Bytes;
use evenkeel_tokio::core::{Attempt, Clock, Code, Deadline};
use evenkeel_tokio::{SleepUntil, TokioClock, sleep_until};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::{Body as _, Frame};
use pin_project_lite::pin_project;
use tokio::task::coop::poll_proceed;
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::TransportError;
use crate::error::BoxError;
use crate::held::Held;
use crate::observe::Scope;
use crate::options::RetryOwned;
use crate::wire::{self, status, timeout};

/// How an attempt ended, before anybody judges it.
pub(crate) enum Ended {
    /// The status is known and everything there is has come.
    Complete { code: Code, response: Response<Held> },
    /// Its deadline came first.
    CutOff,
    /// The transport failed.
    Lost(TransportError),
    /// What is below panicked. The panic is the caller's, once it is booked.
    Panicked(Box<dyn Any + Send>),
    /// The headers have come; the body tells how it ends.
    Streaming(Response<Body>),
}

/// Whether a response is held until its status is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hold {
    No,
    UntilStatus,
}

pin_project! {
    /// One attempt as a future without a box. The service is driven ready first, by this attempt
    /// alone, and called once.
    pub(crate) struct Sending<S: Service<Request<Body>>> {
        inner: S,
        deadline: Deadline,
        hold: Hold,
        scope: Scope,
        #[pin]
        stage: Stage<S::Future>,
        #[pin]
        timer: Option<SleepUntil>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<F> {
        Ready { request: Option<Request<Body>> },
        Sent { #[pin] response: F },
        Holding { held: Response<Held>, body: Body },
    }
}

impl<S, B> Sending<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    pub(crate) fn new(inner: S, mut request: Request<Body>, attempt: &Attempt, hold: Hold) -> Self {
        let previous = attempt.previous();
        if previous > 0 {
            request.headers_mut().insert(PREVIOUS_ATTEMPTS, HeaderValue::from(previous));
        }
        request.extensions_mut().insert(RetryOwned);
        let deadline = attempt.deadline();
        let stage = Stage::Ready { request: Some(request) };
        Self { inner, deadline, hold, scope: Scope::NONE, stage, timer: None }
    }

    /// In this span, which the server gets to know.
    pub(crate) fn within(mut self, scope: Scope) -> Self {
        #[cfg(feature = "otel")]
        if let Stage::Ready { request: Some(request) } = &mut self.stage {
            scope.inject(request.headers_mut());
        }
        self.scope = scope;
        self
    }

    fn poll_in_scope(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        let scope = core::mem::replace(self.as_mut().project().scope, Scope::NONE);
        let polled = {
            let _entered = scope.enter();
            self.as_mut().poll_stages(cx)
        };
        *self.project().scope = scope;
        polled
    }

    fn poll_stages(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        loop {
            let mut this = self.as_mut().project();
            let next = match this.stage.as_mut().project() {
                StageProjection::Ready { request } => {
                    if let Err(error) = ready!(this.inner.poll_ready(cx)) {
                        return Poll::Ready(Ended::Lost(TransportError::not_ready(error)));
                    }
                    let Some(mut request) = request.take() else { return Poll::Pending };
                    if !this.deadline.is_none() {
                        // What is left at the moment of sending.
                        let left = this.deadline.remaining(TokioClock.now());
                        if left.is_zero() {
                            // Ready too late: with nothing left nothing is sent.
                            return Poll::Ready(Ended::CutOff);
                        }
                        request.headers_mut().insert(timeout::GRPC_TIMEOUT, timeout::encode(left));
                    }
                    Stage::Sent { response: this.inner.call(request) }
                }
                StageProjection::Sent { response } => {
                    match received(ready!(response.poll(cx)), *this.hold) {
                        Received::Body { held, body } => Stage::Holding { held, body },
                        Received::Ended(ended) => return Poll::Ready(ended),
                    }
                }
                StageProjection::Holding { held, body } => {
                    return keep_holding(held, body, cx);
                }
            };
            this.stage.set(next);
        }
    }
}

impl<S, B> Future for Sending<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        if let Poll::Ready(ended) = caught(|| self.as_mut().poll_in_scope(cx)) {
            return Poll::Ready(ended);
        }
        let mut this = self.project();
        if this.deadline.is_none() {
            return Poll::Pending;
        }
        // Made only now: what is answered at once needs no timer.
        if this.timer.is_none() {
            this.timer.set(Some(sleep_until(this.deadline.instant())));
        }
        match this.timer.as_pin_mut() {
            Some(timer) => timer.poll(cx).map(|()| Ended::CutOff),
            None => Poll::Pending,
        }
    }
}

/// Polls what is below, and takes its panic for an end like any other.
pub(crate) fn caught<E: From<Ended>>(poll: impl FnOnce() -> Poll<E>) -> Poll<E> {
    // Nobody looks at what panicked again.
    let polled = catch_unwind(AssertUnwindSafe(poll));
    polled.unwrap_or_else(|panic| Poll::Ready(Ended::Panicked(panic).into()))
}

enum Received {
    Body { held: Response<Held>, body: Body },
    Ended(Ended),
}

fn received<B, E>(response: Result<Response<B>, E>, hold: Hold) -> Received
where
    E: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut response = match response {
        Ok(response) => response,
        Err(error) => return Received::Ended(Ended::Lost(TransportError::before_headers(error))),
    };
    wire::defuse(response.headers_mut());
    // After a failure in the headers nothing of use follows. After OK, messages may.
    let goes_on = |code: &Code| *code == Code::Ok && !response.body().is_end_stream();
    let code = in_headers(&response).filter(|code| !goes_on(code));
    match (code, hold) {
        (Some(code), _) => {
            let response = response.map(|_| Held::default());
            Received::Ended(Ended::Complete { code, response })
        }
        (None, Hold::No) => Received::Ended(Ended::Streaming(response.map(Body::new))),
        (None, Hold::UntilStatus) => {
            let (parts, body) = response.into_parts();
            let held = Response::from_parts(parts, Held::default());
            Received::Body { held, body: Body::new(body) }
        }
    }
}

fn keep_holding(held: &mut Response<Held>, body: &mut Body, cx: &mut Context<'_>) -> Poll<Ended> {
    loop {
        let frame = ready!(poll_frame(body, cx));
        match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => {
                held.body_mut().push(data);
                if held.body().is_full() {
                    let (held, rest) = (take(held), take(body));
                    let response = held.map(|held| held.followed_by(rest));
                    return Poll::Ready(Ended::Streaming(response));
                }
            }
            Some(Ok(Err(frame))) => {
                let mut trailers = frame.into_trailers().unwrap_or_default();
                wire::defuse(&mut trailers);
                held.body_mut().end(trailers);
                return Poll::Ready(complete(take(held)));
            }
            Some(Err(error)) => {
                return Poll::Ready(Ended::Lost(TransportError::in_body(error)));
            }
            None => return Poll::Ready(complete(take(held))),
        }
    }
}

/// The next frame of a body. Frames may come faster than they are read, and may have nothing in
/// them: now and then it is pending, so that the deadline is looked at and others have their turn.
pub(crate) fn poll_frame(
    body: &mut Body,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
    let turn = ready!(poll_proceed(cx));
    let frame = ready!(Pin::new(body).poll_frame(cx));
    turn.made_progress();
    Poll::Ready(frame)
}

fn complete(response: Response<Held>) -> Ended {
    let code = status::of_trailers(response.body().trailers(), in_headers(&response));
    Ended::Complete { code, response }
}

/// The status the headers of `response` have, if they have one.
pub(crate) fn in_headers<B>(response: &Response<B>) -> Option<Code> {
    status::of_headers(response.status(), response.headers())
}

/// How many attempts there were before this one, as gRPC counts them.
pub(crate) const PREVIOUS_ATTEMPTS: HeaderName =
    HeaderName::from_static("grpc-previous-rpc-attempts");
