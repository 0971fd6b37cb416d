//! That a real tonic server stands on the network of memory.

use bytes::Bytes;
use core::convert::Infallible;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use evenkeel_tests::{Network, RawClient, RawCodec};
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::{Code, Request, Response, Status};
use tower::Service;

/// Answers with the request after a second.
#[derive(Clone)]
struct Echo;

type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = Answer<Response<Bytes>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Response::new(request.into_inner()))
        })
    }
}

impl NamedService for Echo {
    const NAME: &'static str = "raw.Raw";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async { Ok(Grpc::new(RawCodec).unary(Self, request).await) })
    }
}

#[tokio::test(start_paused = true)]
async fn it_answers_and_honours_a_timeout_to_the_millisecond() {
    let net = Network::new();
    let server = Server::builder().add_service(Echo);
    tokio::spawn(server.serve_with_incoming(net.listen("a")));
    let mut client = RawClient::new(net.channel("a"));

    let call = client.unary("ping");
    let answer = tokio::time::timeout(Duration::from_millis(1001), call).await.unwrap();
    assert_eq!(answer.unwrap().into_inner(), "ping");

    // Sent without tonic's client-side timer knowing: the server's answer is CANCELLED too.
    let mut request = Request::new("ping");
    request.set_timeout(Duration::from_millis(200));
    let call = tokio::time::timeout(Duration::from_millis(201), client.unary(request));
    assert_eq!(call.await.unwrap().unwrap_err().code(), Code::Cancelled);
    assert_eq!(net.dials("a").len(), 1);
}
