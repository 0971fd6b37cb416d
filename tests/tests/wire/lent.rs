//! That two attempts never read from the same request stream, whatever the transport keeps.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use evenkeel_tests::RawClient;
use http::{Request, Response};
use http_body_util::BodyExt;
use tonic::Status;
use tonic::body::Body;
use tower::Service;

use crate::lab::{UPLOAD, pass};
use crate::policies::{client, only, retries};

/// A transport that answers `UNAVAILABLE`; the first time before it has read anything, and it
/// keeps what it was given: so does a connection whose send window is closed.
#[derive(Clone, Default)]
struct Keeper {
    kept: Arc<Mutex<Option<Body>>>,
    read: Arc<Mutex<Vec<u8>>>,
}

impl Service<Request<Body>> for Keeper {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_second = request.headers().contains_key("grpc-previous-rpc-attempts");
        let keeper = self.clone();
        Box::pin(async move {
            if is_second {
                let all = request.into_body().collect().await.unwrap().to_bytes();
                keeper.read.lock().unwrap().extend_from_slice(&all);
            } else {
                *keeper.kept.lock().unwrap() = Some(request.into_body());
            }
            Ok(Status::unavailable("busy").into_http())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_over_reads_nothing_of_the_next() {
    let keeper = Keeper::default();
    let service = client().retry(retries(2, 100)).idempotent(only(&[UPLOAD]));
    let mut client = RawClient::of(UPLOAD, service.build(keeper.clone()).unwrap());
    let requests = tokio_stream::iter([Bytes::from("1"), Bytes::from("2")]);
    let between_the_attempts = async {
        pass(50).await;
        let mut first = keeper.kept.lock().unwrap().take().unwrap();
        assert!(first.frame().await.unwrap().is_err(), "it read what is the second attempt's");
    };
    let (answer, ()) = tokio::join!(client.client_streaming(requests), between_the_attempts);
    assert_eq!(answer.unwrap_err().message(), "busy");
    assert_eq!(*keeper.read.lock().unwrap(), b"\0\0\0\0\x011\0\0\0\0\x012");
}
