//! What is kept of a request, and which CANCELLED is which.

use crate::parts::{answer, data, framed, message, service, trailers};
use crate::{CHARGE, ECHO, circuit, guarded, sent};
use bytes::Bytes;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use evenkeel_core::Sent;
use evenkeel_tests::{Last, Network, Peer, RawClient, Reason, Reply};
use evenkeel_tonic::Resilient;
use http::Request;
use http_body_util::BodyExt;
use std::sync::Arc;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Service, ServiceExt};

/// F54: the peer reads the first request to its end before it fails; the second is the same.
#[tokio::test(start_paused = true)]
async fn f54_what_was_read_is_sent_again() {
    let inner = service(|call, request: Request<Body>| async move {
        let body = request.into_body().collect().await?.to_bytes();
        if call == 0 {
            return answer([trailers(&Status::unavailable("busy"))]);
        }
        answer([data(body), trailers(&Status::ok(""))])
    });
    let original = message(1_024);
    let service = guarded().build(inner).unwrap();
    let echo = RawClient::of(ECHO, service).unary(original.clone()).await.unwrap();
    assert_eq!(echo.into_inner(), original);
}

/// F56: where nothing is ever repeated, nothing is read ahead and nothing kept.
#[tokio::test(start_paused = true)]
async fn f56_without_retries_nothing_is_kept() {
    for passive in [false, true] {
        let called = Arc::new(AtomicBool::new(false));
        let inner = {
            let called = Arc::clone(&called);
            service(move |_, request: Request<Body>| {
                called.store(true, Ordering::Relaxed);
                async move {
                    let body = request.into_body().collect().await?.to_bytes();
                    answer([data(body), trailers(&Status::ok(""))])
                }
            })
        };
        let read_early = Arc::clone(&called);
        let frames = futures_util::stream::once(async move {
            assert!(read_early.load(Ordering::Relaxed), "read before it was asked for");
            data(framed(b"ping"))
        });
        let builder = Resilient::builder();
        let builder =
            if passive { builder } else { builder.timeout(Duration::from_secs(1)).unwrap() };
        let mut service = builder.build(inner).unwrap();
        let mut request = Request::new(Body::new(http_body_util::StreamBody::new(frames)));
        *request.uri_mut() = ECHO.parse().unwrap();
        let answer = service.ready().await.unwrap().call(request).await.unwrap();
        let body: Bytes = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, framed(b"ping"));
    }
}

/// F72: the connection's end, the server's word, and the caller's leaving are three things.
#[tokio::test(start_paused = true)]
async fn f72_cancelled_is_told_by_its_source() {
    // The server's word: nobody's failure.
    for reply in
        [Reply::status(Status::cancelled("by the server")), Reply::hang().reset(Reason::CANCEL)]
    {
        let net = Network::new();
        let peer = Peer::new([reply]).listen(&net, "a");
        let service = guarded().build(net.channel("a")).unwrap();
        let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!((status.code(), peer.count()), (Code::Cancelled, 1));
        assert_eq!(circuit(&service, ECHO).failures, 0);
    }
    // A dying connection, which raw tonic calls INTERNAL or UNKNOWN: a failure of the server's.
    for (reply, how_far, attempts) in [
        (Reply::hang().go_away(Last::Before, Reason::NO_ERROR), Sent::Refused, 4),
        (Reply::hang().go_away(Last::This, Reason::NO_ERROR).close(), Sent::Maybe, 1),
    ] {
        let net = Network::new();
        let peer = Peer::new([reply]).listen(&net, "a");
        let service = guarded().build(net.channel("a")).unwrap();
        let status = RawClient::of(CHARGE, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(how_far)));
        assert_eq!(peer.count(), attempts);
        assert!(circuit(&service, CHARGE).failures > 0);
    }
    // The caller: nothing at all.
    let net = Network::new();
    let peer = Peer::new([Reply::hang()]).listen(&net, "a");
    let service = guarded().build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, client.unary("ping")).await.is_err());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(peer.requests()[0].reset, Some((second, Reason::CANCEL)));
    assert_eq!(circuit(&service, ECHO).failures, 0);
}
