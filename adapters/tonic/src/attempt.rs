//! This file knows one attempt on the wire: readiness, headers, and where it is held, the body;
//! all of it under one deadline and one timer.

use core::any::Any;
use core::mem::take;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_tokio::core::{Attempt, Clock, Code, Deadline};
use evenkeel_tokio::{SleepUntil, TokioClock, sleep_until};
use http::{HeaderName, HeaderValue, Request, Response};
use pin_project_lite::pin_project;
use tonic::body::Body;
use tower_service::Service;

use crate::TransportError;
use crate::below::{Below, caught};
use crate::error::BoxError;
use crate::flow::Flow;
use crate::held::{Held, Reached};
use crate::observe::Scope;
use crate::options::RetryOwned;
use crate::wire::{self, status, timeout};

/// How an attempt ended, before anybody judges it.
pub(crate) enum Ended {
    /// The status is known and everything there is has come.
    Complete { code: Code, held: Held },
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
    ///
    /// What it has stays in its place from beginning to end, and is `None` before and after: as the
    /// stages of an enum, request and response would be moved by each of them.
    pub(crate) struct Sending<S: Service<Request<Body>>> {
        request: Option<Request<Body>>,
        inner: Option<S>,
        deadline: Deadline,
        hold: Hold,
        scope: Scope,
        #[pin]
        sent: Option<S::Future>,
        held: Option<Held>,
        #[pin]
        timer: Option<SleepUntil>,
    }
}

impl<S: Service<Request<Body>>> Sending<S> {
    /// With a request that is not complete yet, or waits to be sent.
    #[inline(always)]
    pub(crate) fn of(request: Request<Body>) -> Self {
        Self {
            request: Some(request),
            inner: None,
            deadline: Deadline::NONE,
            hold: Hold::No,
            scope: Scope::NONE,
            sent: None,
            held: None,
            timer: None,
        }
    }

    /// With a request that goes to `inner` as it is.
    pub(crate) fn passing(inner: S, request: Request<Body>) -> Self {
        Self { inner: Some(inner), ..Self::of(request) }
    }

    /// The request, until it is sent.
    pub(crate) fn request(self: Pin<&mut Self>) -> Option<&mut Request<Body>> {
        self.project().request.as_mut()
    }

    /// The response of an attempt that succeeded.
    pub(crate) fn held(self: Pin<&mut Self>) -> Option<&mut Held> {
        self.project().held.as_mut()
    }
}

impl<S: Below> Sending<S> {
    /// Makes it `attempt` of this call: in its span, which the server gets to know.
    pub(crate) fn begin<const N: usize>(
        self: Pin<&mut Self>,
        flow: &mut Flow<S, N>,
        attempt: &Attempt,
    ) {
        let this = self.project();
        let Some(request) = this.request else { return };
        let previous = attempt.previous();
        if previous > 0 {
            request.headers_mut().insert(PREVIOUS_ATTEMPTS, HeaderValue::from(previous));
        }
        request.extensions_mut().insert(RetryOwned);
        *this.inner = flow.driven.upstream_mut().service(attempt);
        *this.deadline = attempt.deadline();
        *this.hold = flow.hold();
        let upstream = flow.driven.upstream();
        *this.scope = upstream.scope(attempt);
        #[cfg(feature = "otel")]
        this.scope.inject(request.headers_mut());
    }

    /// How it ended; `None` for the usual end: it succeeded, and its response is held here.
    pub(crate) fn poll_end(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Ended>> {
        if self.scope.is_none() {
            return self.poll_stages(cx);
        }
        let scope = core::mem::replace(self.as_mut().project().scope, Scope::NONE);
        let polled = {
            let _entered = scope.enter();
            self.as_mut().poll_stages(cx)
        };
        *self.project().scope = scope;
        polled
    }

    /// Waits for its deadline, while nothing else comes. The timer is made only now: what is
    /// answered at once needs none.
    pub(crate) fn poll_deadline(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.deadline.is_none() {
            return Poll::Pending;
        }
        if this.timer.is_none() {
            this.timer.set(Some(sleep_until(this.deadline.instant())));
        }
        this.timer.as_pin_mut().map_or(Poll::Pending, |timer| timer.poll(cx))
    }

    fn poll_stages(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Ended>> {
        if self.held.is_none() {
            let response = match ready!(self.as_mut().poll_response(cx)) {
                Ok(response) => response,
                Err(ended) => return Poll::Ready(Some(ended)),
            };
            let this = self.as_mut().project();
            match received(response, *this.hold) {
                Received::Ended(ended) => return Poll::Ready(Some(ended)),
                Received::Goes(response) => *this.held = Some(Held::of(response)),
            }
        }
        let Some(held) = self.project().held else { return Poll::Pending };
        let reached = ready!(held.poll(cx));
        let code = status::of_trailers(held.trailers(), || in_headers(held.head()));
        Poll::Ready(match reached {
            Ok(Reached::End) if code == Code::Ok => None,
            Ok(Reached::End) => Some(Ended::Complete { code, held: take(held) }),
            Ok(Reached::Limit) => Some(Ended::Streaming(held.give_on())),
            Err(error) => Some(Ended::Lost(TransportError::in_body(error))),
        })
    }

    /// Sends the request, when the service is ready, and waits for the response.
    pub(crate) fn poll_response(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<S::Body>, Ended>> {
        let mut this = self.project();
        if let Some(request) = this.request {
            // Never missing: the upstream has admitted the attempt.
            let Some(inner) = this.inner else { return Poll::Ready(Err(Ended::CutOff)) };
            if let Err(error) = ready!(inner.poll_ready(cx)) {
                return Poll::Ready(Err(Ended::Lost(TransportError::not_ready(error))));
            }
            if !this.deadline.is_none() {
                // What is left at the moment of sending.
                let left = this.deadline.remaining(TokioClock.now());
                if left.is_zero() {
                    // Ready too late: with nothing left nothing is sent.
                    return Poll::Ready(Err(Ended::CutOff));
                }
                request.headers_mut().insert(timeout::GRPC_TIMEOUT, timeout::encode(left));
            }
            if let Some(request) = this.request.take() {
                this.sent.set(Some(inner.call(request)));
            }
        }
        let Some(sent) = this.sent.as_mut().as_pin_mut() else { return Poll::Pending };
        let response = ready!(sent.poll(cx));
        this.sent.set(None);
        Poll::Ready(response.map_err(|error| Ended::Lost(TransportError::before_headers(error))))
    }
}

impl<S: Below> Future for Sending<S> {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        let Poll::Ready(ended) = caught(|| self.as_mut().poll_end(cx)) else {
            return self.poll_deadline(cx).map(|()| Ended::CutOff);
        };
        let held = || {
            let held = self.held().map(take).unwrap_or_default();
            Ended::Complete { code: Code::Ok, held }
        };
        Poll::Ready(ended.unwrap_or_else(held))
    }
}

enum Received {
    /// Its status comes behind its body.
    Goes(Response<Body>),
    Ended(Ended),
}

fn received<B>(mut response: Response<B>, hold: Hold) -> Received
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    wire::defuse(response.headers_mut());
    // After a failure in the headers nothing of use follows. After OK, messages may.
    let goes_on = |code: &Code| *code == Code::Ok && !response.body().is_end_stream();
    let code = in_headers(&response).filter(|code| !goes_on(code));
    match (code, hold) {
        (Some(code), _) => {
            let held = Held::of(response.map(|_| Body::empty()));
            Received::Ended(Ended::Complete { code, held })
        }
        (None, Hold::No) => Received::Ended(Ended::Streaming(response.map(Body::new))),
        (None, Hold::UntilStatus) => Received::Goes(response.map(Body::new)),
    }
}

/// The status the headers of `response` have, if they have one.
pub(crate) fn in_headers<B>(response: &Response<B>) -> Option<Code> {
    status::of_headers(response.status(), response.headers())
}

/// How many attempts there were before this one, as gRPC counts them.
pub(crate) const PREVIOUS_ATTEMPTS: HeaderName =
    HeaderName::from_static("grpc-previous-rpc-attempts");
