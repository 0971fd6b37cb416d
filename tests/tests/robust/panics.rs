//! Code that panics below us: the panic stays the caller's, and nothing is lost by it.

use crate::parts::{answer, service, trailers};
use crate::{CHAT, ECHO, EXPORT, circuit, guarded, opens_after};
use bytes::Bytes;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use evenkeel_core::BreakerState;
use evenkeel_tests::{RawClient, Reply, Stub, drain};
use http::{Request, Response};
use http_body::Frame;
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::body::Body;
use tower::{BoxError, Service};

/// Where the service below panics.
#[derive(Clone, Copy, Debug)]
enum Where {
    Ready,
    Call,
    Future,
    Body,
}

#[derive(Clone)]
struct Panicking(Where);

impl Service<Request<Body>> for Panicking {
    type Response = Response<Exploding>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Exploding>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        assert!(!matches!(self.0, Where::Ready), "in poll_ready");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        let at = self.0;
        assert!(!matches!(at, Where::Call), "in call");
        Box::pin(async move {
            tokio::task::yield_now().await;
            assert!(!matches!(at, Where::Future), "in the future");
            Ok(Response::new(Exploding))
        })
    }
}

/// A body that panics at its first poll.
struct Exploding;

impl http_body::Body for Exploding {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        panic!("in the body");
    }
}

/// F83 (d): a panic is the caller's as it would be without us. The slot comes back, and it counts
/// as a failure: the trial did not succeed.
#[tokio::test(start_paused = true)]
async fn f83_a_trial_that_panics_failed() {
    for method in [ECHO, EXPORT] {
        for at in [Where::Ready, Where::Call, Where::Future, Where::Body] {
            for already_open in [false, true] {
                let breaker = opens_after(1, Duration::ZERO);
                let service = guarded().breaker(breaker).build(Panicking(at)).unwrap();
                for round in 0..=u8::from(already_open) {
                    let mut client = RawClient::of(method, service.clone());
                    let call = tokio::spawn(async move {
                        let stream = client.server_streaming("all").await?.into_inner();
                        drain(stream).await;
                        Ok::<_, Status>(())
                    });
                    assert!(call.await.unwrap_err().is_panic(), "{at:?}");
                    let snapshot = circuit(&service, method);
                    assert_eq!(
                        (snapshot.state, snapshot.trials),
                        (BreakerState::Open, 0),
                        "{at:?}"
                    );
                    assert_eq!(snapshot.reopenings, round, "{method} {at:?}");
                }
            }
        }
    }
}

/// The second attempt of a call runs in another place than the first; its panic counts as well.
#[tokio::test(start_paused = true)]
async fn a_panic_in_a_retry_counts() {
    let inner = service(|call, _| async move {
        assert!(call == 0, "in the second attempt");
        answer([trailers(&Status::unavailable("busy"))])
    });
    let service = guarded().build(inner).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    let call = tokio::spawn(async move { client.unary("ping").await });
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(circuit(&service, ECHO).failures, 2);
}

/// A request stream that panics is the caller's own, and hits nobody else.
#[tokio::test(start_paused = true)]
async fn a_panic_in_the_callers_stream() {
    let service = guarded().build(Stub::new([Reply::ok("pong")])).unwrap();
    let mut client = RawClient::of(CHAT, service.clone());
    let call = tokio::spawn(async move {
        let requests = tokio_stream::iter([1]).map(|_| -> Bytes { panic!("in the stream") });
        client.streaming(requests).await.map(|_| ())
    });
    assert!(call.await.unwrap_err().is_panic());
    let mut client = RawClient::of(CHAT, service);
    let requests = tokio_stream::iter([Bytes::from("item")]);
    client.streaming(requests).await.unwrap();
}
