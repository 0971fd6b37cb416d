//! Retry loops above and below ours: R34.

use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_tests::{Listening, Network, Peer, RawClient};
use evenkeel_tonic::core::RetryPolicy;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tonic::Code;
use tonic::body::Body;
use tonic::transport::Channel;
use tower::{BoxError, Service};

use crate::lab::{ECHO, busy, code, ok};
use crate::policies::{client, retries};

/// A channel that tries three times by itself, as a service mesh would.
#[derive(Clone)]
struct Mesh(Channel);

impl Service<Request<Body>> for Mesh {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut channel = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let message: Bytes = body.collect().await?.to_bytes();
            let mut left = 3;
            loop {
                let again =
                    Request::from_parts(parts.clone(), Body::new(Full::new(message.clone())));
                core::future::poll_fn(|cx| channel.poll_ready(cx)).await?;
                let response = channel.call(again).await?;
                left -= 1;
                if left == 0
                    || response.headers().get("grpc-status").is_none_or(|code| code != "14")
                {
                    return Ok(response);
                }
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn r34_a_foreign_loop_below_ours_multiplies_and_is_warned_of_where_it_is_known() {
    for declared in [false, true] {
        let net = Network::new();
        let peer = Peer::new([busy()]).listen(&net, "a");
        let listening = Listening::begin();
        let builder = client().retry(retries(3, 100));
        let builder = if declared { builder.native_retries() } else { builder };
        let service = builder.build(Mesh(net.channel("a"))).unwrap();
        let mut client = RawClient::of(ECHO, service);
        assert_eq!(code(&client.unary("ping").await), Code::Unavailable);
        assert_eq!(peer.count(), 9);
        assert_eq!(listening.warnings().len(), usize::from(declared));
    }
}

#[tokio::test(start_paused = true)]
async fn r34_our_own_layer_twice_retries_once_and_says_so_once() {
    let net = Network::new();
    let peer = Peer::new([busy()]).listen(&net, "a");
    let listening = Listening::begin();
    let inner = client().retry(retries(3, 100)).build(net.channel("a")).unwrap();
    let outer = client().retry(retries(3, 100)).build(inner).unwrap();
    let mut client = RawClient::of(ECHO, outer);
    for _ in 0..2 {
        assert_eq!(code(&client.unary("ping").await), Code::Unavailable);
    }
    assert_eq!(peer.count(), 2 * 3);
    let warnings = listening.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("stacked"), "{warnings:?}");
}

/// A loop above ours is seen by the header it writes.
#[tokio::test(start_paused = true)]
async fn r34_a_foreign_loop_above_ours_is_warned_of_once() {
    let net = Network::new();
    let peer = Peer::new([ok()]).listen(&net, "a");
    let listening = Listening::begin();
    let service = client().retry(RetryPolicy::DEFAULT).build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service);
    for _ in 0..2 {
        let mut request = tonic::Request::new("ping");
        request.metadata_mut().insert("grpc-previous-rpc-attempts", "1".parse().unwrap());
        client.unary(request).await.unwrap();
    }
    assert_eq!((peer.count(), listening.warnings().len()), (2, 1));
}
