//! This file knows a retry loop that is not ours: tower's, below the client, as a service mesh or a
//! service config would have one.

use core::future::{Ready, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Channel;
use tower::retry::{Policy, Retry};
use tower::util::MapRequest;
use tower::{Service, ServiceExt};

type Inner = MapRequest<Channel, fn(Request<Full<Bytes>>) -> Request<Body>>;

/// A channel that tries three times by itself.
#[derive(Clone, Debug)]
pub(crate) struct NativeRetries(Retry<Three, Inner>);

impl NativeRetries {
    pub(crate) fn over(channel: Channel) -> Self {
        let boxed: fn(Request<Full<Bytes>>) -> Request<Body> = |request| request.map(Body::new);
        Self(Retry::new(Three(3), channel.map_request(boxed)))
    }
}

impl Service<Request<Body>> for NativeRetries {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let retry = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let message = body.collect().await?.to_bytes();
            let request = Request::from_parts(parts, Full::new(message));
            retry.oneshot(request).await.map_err(|error| Status::from_error(Box::new(error)))
        })
    }
}

/// Attempts that are left.
#[derive(Clone, Debug)]
struct Three(u32);

impl<E> Policy<Request<Full<Bytes>>, Response<Body>, E> for Three {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        result: &mut Result<Response<Body>, E>,
    ) -> Option<Ready<()>> {
        let unavailable = result.as_ref().is_ok_and(|response| {
            response.headers().get("grpc-status").is_some_and(|code| code == "14")
        });
        if !unavailable || self.0 <= 1 {
            return None;
        }
        self.0 -= 1;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}
