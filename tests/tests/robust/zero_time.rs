//! Bodies that are not ready: a call is over at its deadline, whatever it waits for.

use crate::parts::{data, framed};
use crate::{ECHO, EXPORT, guarded};
use bytes::Bytes;
use core::time::Duration;
use evenkeel_tests::{Reply, Stub};
use evenkeel_tonic::{DeadlinePassed, Resilient, cause};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use http::Request;
use http_body::Frame;
use http_body_util::StreamBody;
use tonic::Code;
use tonic::body::Body;
use tower::{BoxError, Service, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

/// Sends these frames as the request of `method`, and says how the call ended.
async fn send(
    service: &mut Resilient<Stub>,
    method: &str,
    frames: impl Stream<Item = Result<Frame<Bytes>, BoxError>> + Send + 'static,
) -> Result<(), tonic::Status> {
    let mut request = Request::new(Body::new(StreamBody::new(frames)));
    *request.uri_mut() = method.parse().unwrap();
    service.ready().await?.call(request).await.map(drop)
}

fn after(wait: Duration) -> impl Stream<Item = Result<Frame<Bytes>, BoxError>> + Send {
    stream::once(async move {
        tokio::time::sleep(wait).await;
        data(framed(b"ping"))
    })
}

/// A unary message that takes its time is waited for, and can be given again.
#[tokio::test(start_paused = true)]
async fn a_message_that_comes_late() {
    for method in [ECHO, EXPORT] {
        let busy = Reply::status(tonic::Status::unavailable("busy"));
        let stub = Stub::new([busy, Reply::ok("pong")]);
        let mut service = guarded().retry_streaming().build(stub.clone()).unwrap();
        send(&mut service, method, after(SECOND)).await.unwrap();
        let requests = stub.requests();
        assert_eq!(requests.len(), 2);
        assert!(requests.iter().all(|seen| seen.messages() == [b"ping"]));
    }
}

/// One that never comes, or never ends, is not waited for beyond the deadline: nothing was sent.
#[tokio::test(start_paused = true)]
async fn a_message_that_never_comes_or_never_ends() {
    let stub = Stub::new([Reply::ok("pong")]);
    let service = guarded().timeout(SECOND).unwrap().build(stub.clone()).unwrap();
    for method in [ECHO, EXPORT] {
        for had_one in [false, true] {
            let first = stream::iter(had_one.then(|| data(framed(b"ping"))));
            let frames = first.chain(stream::pending());
            let mut service = service.clone();
            let call = send(&mut service, method, frames);
            let ended = tokio::time::timeout(SECOND + SECOND / 1_000, call).await;
            let status = ended.expect("it waits for ever").unwrap_err();
            assert_eq!(status.code(), Code::DeadlineExceeded);
            assert_eq!(cause::<DeadlinePassed>(&status).unwrap().attempts, 0);
        }
    }
    assert_eq!(stub.count(), 0);
}

/// A caller's stream that fails before it has begun is not sent as if it had ended.
#[tokio::test(start_paused = true)]
async fn a_request_body_that_fails() {
    for method in [ECHO, EXPORT] {
        let stub = Stub::new([Reply::ok("pong")]);
        let mut service = guarded().build(stub.clone()).unwrap();
        let fails = || Err(tonic::Status::invalid_argument("cannot be encoded").into());
        for frames in [vec![fails()], vec![data(framed(b"ping")), fails()]] {
            let status = send(&mut service, method, stream::iter(frames)).await.unwrap_err();
            assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        }
        assert!(stub.requests().iter().all(|seen| !seen.ended));
    }
}
