//! tower's contract, kept towards services that insist on it.

use crate::parts::{Answer, answer, data, framed, service, trailers};
use crate::{CHARGE, ECHO, EXPORT, circuit, guarded, sent, stopped};
use core::future::Ready;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use evenkeel_core::{Sent, StopReason};
use evenkeel_tests::{RawClient, Reply, Stub, drain};
use evenkeel_tonic::{Resilient, TransportError, cause};
use http::{Request, Response};
use std::io;
use std::sync::Arc;
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::buffer::Buffer;
use tower::limit::ConcurrencyLimit;
use tower::{BoxError, Service, ServiceExt};

/// Panics when it is called without having said that it is ready. A clone never has.
struct Strict {
    ready: bool,
    calls: Arc<AtomicUsize>,
    fails: usize,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { ready: false, calls: Arc::clone(&self.calls), fails: self.fails }
    }
}

impl Strict {
    /// The first `fails` calls are answered by UNAVAILABLE.
    fn new(fails: usize) -> Self {
        Self { ready: false, calls: Arc::default(), fails }
    }
}

impl Service<Request<Body>> for Strict {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Ready<Answer>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        assert!(!self.ready, "it said so already");
        if self.calls.load(Ordering::Relaxed) % 2 == 1 {
            // Not at once, now and then.
            self.calls.fetch_add(1, Ordering::Relaxed);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Ready<Answer> {
        assert!(core::mem::take(&mut self.ready), "called before it was ready");
        let call = self.calls.fetch_add(1, Ordering::Relaxed) / 2;
        if call < self.fails {
            return core::future::ready(answer([trailers(&Status::unavailable("busy"))]));
        }
        core::future::ready(answer([data(framed(b"pong")), trailers(&Status::ok(""))]))
    }
}

#[tokio::test(start_paused = true)]
async fn f114_each_attempt_is_preceded_by_its_own_readiness() {
    for fails in [0, 1, 2] {
        let service = guarded().build(Strict::new(fails)).unwrap();
        let answer = RawClient::of(ECHO, service.clone()).unary("ping").await;
        assert_eq!(answer.unwrap().into_inner(), "pong");
        let service = guarded().retry_streaming().build(Strict::new(fails)).unwrap();
        let stream = RawClient::of(EXPORT, service).server_streaming("all").await.unwrap();
        assert_eq!(drain(stream.into_inner()).await.0, ["pong"]);
        // With nothing to do, too.
        let service = Resilient::builder().build(Strict::new(0)).unwrap();
        RawClient::of(ECHO, service).unary("ping").await.unwrap();
    }
}

/// F115: a thousand clones over a buffer of ten places.
#[tokio::test(start_paused = true)]
async fn f115_a_buffer_below_is_never_called_without_a_place() {
    let buffer = Buffer::new(Stub::new([Reply::ok("pong")]).lazy(), 10);
    let service = guarded().build(buffer).unwrap();
    let calls = (0..1_000).map(|_| {
        let mut client = RawClient::of(ECHO, service.clone());
        async move { client.unary("ping").await.unwrap().into_inner() }
    });
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.into_iter().all(|answer| answer == "pong"));
}

/// Trap 4: the places of a buffer that nobody gives back are waited for until the deadline.
#[tokio::test(start_paused = true)]
async fn a_buffer_whose_places_are_taken_ends_at_the_deadline() {
    let buffer = Buffer::new(Stub::new([Reply::ok("pong")]), 1);
    let mut idle = buffer.clone();
    idle.ready().await.unwrap();
    let service = guarded().build(buffer).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    let mut request = tonic::Request::new("ping");
    request.set_timeout(Duration::from_millis(200));
    assert_eq!(client.unary(request).await.unwrap_err().code(), Code::DeadlineExceeded);
    drop(idle);
    client.unary("ping").await.unwrap();
}

/// F117: everybody who waits for the one place gets it in the end.
#[tokio::test(start_paused = true)]
async fn f117_six_who_wait_for_one_place_all_get_it() {
    let second = Duration::from_secs(1);
    let inner = service(move |_, _| async move {
        tokio::time::sleep(second).await;
        answer([data(framed(b"pong")), trailers(&Status::ok(""))])
    });
    let service = guarded().build(ConcurrencyLimit::new(inner, 1)).unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..6 {
        let mut client = RawClient::of(ECHO, service.clone());
        calls.spawn(async move { client.unary("ping").await.is_ok() });
    }
    let all = tokio::time::timeout(6 * second + second / 2, calls.join_all()).await;
    assert_eq!(all.expect("somebody was not woken"), [true; 6]);
}

/// The one place is free for the second attempt, and for the restart of a stream.
#[tokio::test(start_paused = true)]
async fn a_failed_attempt_does_not_hold_the_place_its_successor_needs() {
    let limited = |replies: [Reply; 2]| ConcurrencyLimit::new(Stub::new(replies).lazy(), 1);
    let late = Reply::headers().message("half").end(Status::unavailable("late"));
    let service = guarded().build(limited([late.clone(), Reply::ok("pong")])).unwrap();
    RawClient::of(ECHO, service).unary("ping").await.unwrap();
    let service = guarded().retry_streaming().build(limited([late, Reply::ok("pong")])).unwrap();
    let stream = RawClient::of(EXPORT, service).server_streaming("all").await.unwrap();
    assert_eq!(drain(stream.into_inner()).await.0, ["half", "pong"]);
}

/// Is not ready for its first `errors` callers, and then it is.
#[derive(Clone)]
struct NotReady {
    errors: Arc<AtomicUsize>,
    error: fn() -> BoxError,
}

impl Service<Request<Body>> for NotReady {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Ready<Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let left = self.errors.load(Ordering::Relaxed);
        if left == 0 {
            return Poll::Ready(Ok(()));
        }
        self.errors.store(left - 1, Ordering::Relaxed);
        Poll::Ready(Err((self.error)()))
    }

    fn call(&mut self, _: Request<Body>) -> Ready<Answer> {
        core::future::ready(answer([data(framed(b"pong")), trailers(&Status::ok(""))]))
    }
}

/// Trap 5: what was never handed over was not executed, so it is tried again, for every method.
#[tokio::test(start_paused = true)]
async fn an_error_instead_of_readiness_was_not_sent() {
    for method in [ECHO, CHARGE] {
        for error in [
            || "no idea".into(),
            || io::Error::from(io::ErrorKind::ConnectionReset).into(),
            || Status::unknown("Service was not ready").into(),
        ] {
            let inner = NotReady { errors: Arc::new(AtomicUsize::new(1)), error };
            let service = guarded().build(inner).unwrap();
            let answer = RawClient::of(method, service.clone()).unary("ping").await;
            assert_eq!(answer.unwrap().into_inner(), "pong", "{method}: {}", error());
            assert_eq!(circuit(&service, method).failures, 0);
        }
    }
}

/// F119: a layer that will never be ready again is an answer, not a hang; and we are always ready.
#[tokio::test(start_paused = true)]
async fn f119_a_layer_that_is_gone_is_a_typed_answer() {
    let (buffer, worker) = Buffer::pair(Stub::new([Reply::ok("pong")]), 10);
    drop(worker);
    let mut service = guarded().build(buffer).unwrap();
    let status = RawClient::of(CHARGE, service.clone()).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::NotConnected)));
    assert!(cause::<tower::buffer::error::Closed>(&status).is_some());
    assert_eq!(stopped(&status), Some(StopReason::AttemptsUsedUp));
    assert_eq!(circuit(&service, CHARGE).failures, 3);
    service.ready().await.unwrap();
}

/// A word of somebody's is kept, though nothing was sent.
#[tokio::test(start_paused = true)]
async fn a_status_instead_of_readiness_keeps_its_code() {
    let error = || Status::unauthenticated("no token").into();
    let inner = NotReady { errors: Arc::new(AtomicUsize::new(usize::MAX)), error };
    let service = guarded().build(inner).unwrap();
    let status = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unauthenticated, "no token"));
    assert!(cause::<TransportError>(&status).is_none());
}

/// Services that must not be shared between threads can be cloned into each call.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_sync() {
    let inner = tower::util::BoxCloneService::new(Stub::new([Reply::ok("pong")]));
    let service = guarded().build(inner).unwrap();
    let answer = RawClient::of(ECHO, service).unary("ping").await;
    assert_eq!(answer.unwrap().into_inner(), "pong");
}
