//! This file knows a service without a network, as lean as one can be: whatever is counted above it
//! is not its own.

use core::convert::Infallible;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body as _, Frame};
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

/// Reads a request to its end, as a transport would, and answers. A clone is the same stub.
#[derive(Clone)]
pub(crate) struct Stub {
    /// How many messages each answer has.
    messages: u64,
    /// One in so many requests is answered; the others are told to come again at once.
    answers: u64,
    /// Whether an answer is there at the first poll.
    at_once: bool,
    requests: Arc<AtomicU64>,
}

impl Stub {
    pub(crate) fn unary() -> Self {
        Self::streaming(1)
    }

    pub(crate) fn streaming(messages: u64) -> Self {
        Self { messages, answers: 1, at_once: true, requests: Arc::default() }
    }

    /// One whose answers are waited for, as all are that come over a network.
    pub(crate) fn waited_for() -> Self {
        Self { at_once: false, ..Self::unary() }
    }

    /// One that answers one in so many requests.
    pub(crate) fn every(answers: u64) -> Self {
        Self { answers, ..Self::unary() }
    }
}

impl Service<Request<Body>> for Stub {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answering {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let messages = number.is_multiple_of(self.answers).then_some(self.messages);
        Answering { request: request.into_body(), messages, ready: self.at_once }
    }
}

/// The future of a request.
pub(crate) struct Answering {
    request: Body,
    messages: Option<u64>,
    ready: bool,
}

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        while ready!(Pin::new(&mut self.request).poll_frame(cx)).is_some() {}
        if !core::mem::replace(&mut self.ready, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/grpc"));
        match self.messages {
            Some(left) => *response.body_mut() = Body::new(Answer { left, ended: false }),
            None => {
                headers.insert("grpc-status", HeaderValue::from_static("14"));
                headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static("0"));
            }
        }
        Poll::Ready(Ok(response))
    }
}

/// The body of an answer: a frame for each message, and the trailers.
struct Answer {
    left: u64,
    ended: bool,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.left > 0 {
            self.left -= 1;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(MESSAGE)))));
        }
        if core::mem::replace(&mut self.ended, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }
}

/// A `Msg` whose text has sixteen letters, behind its prefix.
pub(crate) const MESSAGE: &[u8] = b"\0\0\0\0\x12\x0a\x100123456789abcdef";
