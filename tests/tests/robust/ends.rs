//! Callers that poll too often, and bodies that cannot bear it.

use crate::parts::{data, framed, trailers};
use crate::{ECHO, EXPORT, guarded};
use bytes::Bytes;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use evenkeel_tests::{Reply, Stub};
use evenkeel_tonic::Resilient;
use http::{Request, Response};
use http_body::{Body as _, Frame};
use tonic::Status;
use tonic::body::Body;
use tower::{BoxError, Service, ServiceExt};

/// Polled again after its answer, a call is pending and nothing else.
#[tokio::test(start_paused = true)]
async fn a_call_polled_after_its_end() {
    let busy = || Reply::status(Status::unavailable("busy"));
    for (reply, passive) in
        [(Reply::ok("pong"), false), (busy(), false), (Reply::ok("pong"), true), (busy(), true)]
    {
        let builder = if passive { Resilient::builder() } else { guarded() };
        let mut service = builder.build(Stub::new([reply])).unwrap();
        let mut request = Request::new(Body::new(http_body_util::Full::new(framed(b"ping"))));
        *request.uri_mut() = ECHO.parse().unwrap();
        let mut call = pin!(service.ready().await.unwrap().call(request));
        poll_fn(|cx| call.as_mut().poll(cx).map(drop)).await;
        for _ in 0..3 {
            let again = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await;
            assert!(!again);
        }
    }
}

/// And polled after its end, a body is at its end, whatever the one below does then.
#[tokio::test(start_paused = true)]
async fn a_body_polled_after_its_end() {
    for method in [ECHO, EXPORT] {
        for fails in [false, true] {
            let inner = Fused { fails };
            let mut service = guarded().retry_streaming().build(inner).unwrap();
            let mut request = Request::new(Body::new(http_body_util::Full::new(framed(b"ping"))));
            *request.uri_mut() = method.parse().unwrap();
            let answer = service.ready().await.unwrap().call(request).await;
            let Ok(answer) = answer else { continue };
            let mut body = answer.into_body();
            assert!(!body.is_end_stream(), "nobody would poll it");
            assert_eq!(body.size_hint().exact(), None, "trailers are to follow");
            let mut frames = 0;
            while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                frames += 1;
                if frame.is_err() {
                    break;
                }
            }
            assert!(frames >= 1, "{method}");
            for _ in 0..3 {
                assert!(poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.is_none());
            }
        }
    }
}

/// Its bodies panic when they are polled after their end.
#[derive(Clone)]
struct Fused {
    fails: bool,
}

impl Service<Request<Body>> for Fused {
    type Response = Response<Once>;
    type Error = BoxError;
    type Future = core::future::Ready<Result<Response<Once>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        let end = if self.fails { Status::internal("broken") } else { Status::ok("") };
        let frames: Vec<_> = vec![trailers(&end), data(framed(b"pong"))];
        core::future::ready(Ok(Response::new(Once { frames, over: false })))
    }
}

/// Frames from the last to the first.
struct Once {
    frames: Vec<Result<Frame<Bytes>, BoxError>>,
    over: bool,
}

impl http_body::Body for Once {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        assert!(!self.over, "polled after its end");
        let frame = self.frames.pop();
        self.over = frame.is_none();
        Poll::Ready(frame)
    }
}
