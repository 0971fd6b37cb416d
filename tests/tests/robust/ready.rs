//! Waiting for a connection, where it meets the rest.

use crate::parts::{answer, data, framed, service, trailers};
use crate::{CHARGE, CHAT, ECHO, UPLOAD, circuit, guarded, sent};
use bytes::Bytes;
use core::time::Duration;
use evenkeel_core::{RetryPolicy, Sent};
use evenkeel_tests::{Network, Peer, RawClient, Reply, drain};
use evenkeel_tonic::{CallOptions, DeadlinePassed, Resilient, cause};
use http::Request;
use http_body_util::BodyExt;
use std::io;
use tonic::Code;
use tonic::body::Body;

const HALF_A_SECOND: Duration = Duration::from_millis(500);

/// A peer that will listen half a second from now.
fn late(net: &Network) -> Peer {
    let peer = Peer::new([Reply::ok("pong")]);
    let listens = peer.clone();
    net.after(HALF_A_SECOND, move |net| drop(listens.listen(net, "a")));
    peer
}

/// The call's own wish wins, also where no block was configured at all.
#[tokio::test(start_paused = true)]
async fn the_calls_own_wish_needs_no_block() {
    let retrying = || Resilient::builder().retry(RetryPolicy::OFF);
    for builder in [Resilient::builder(), retrying(), retrying().wait_for_ready(false)] {
        let net = Network::new();
        let peer = late(&net);
        let service = builder.build(net.channel("a")).unwrap();
        let mut request = tonic::Request::new("ping");
        request.set_timeout(Duration::from_secs(3));
        request.extensions_mut().insert(CallOptions::new().wait_for_ready(true));
        let answer = RawClient::of(CHARGE, service).unary(request).await;
        assert_eq!(answer.unwrap().into_inner(), "pong");
        assert_eq!(peer.count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_calls_own_wish_not_to_wait() {
    let net = Network::new();
    let _peer = late(&net);
    let service = guarded().wait_for_ready(true).build(net.channel("a")).unwrap();
    let mut request = tonic::Request::new("ping");
    let options = CallOptions::new().wait_for_ready(false).without_retry();
    request.extensions_mut().insert(options);
    let status = RawClient::of(ECHO, service).unary(request).await.unwrap_err();
    assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::NotConnected)));
    assert_eq!(net.dials("a").len(), 1);
}

/// W10: all kinds wait, and a request stream is whole when it is sent at last.
#[tokio::test(start_paused = true)]
async fn w10_request_streams_wait_too_and_lose_nothing() {
    for method in [UPLOAD, CHAT] {
        let net = Network::new();
        let peer = late(&net);
        let service = guarded().wait_for_ready(true).build(net.channel("a")).unwrap();
        let requests = tokio_stream::iter(["1", "2", "3"].map(Bytes::from));
        let mut client = RawClient::of(method, service);
        if method == UPLOAD {
            client.client_streaming(requests).await.unwrap();
        } else {
            drain(client.streaming(requests).await.unwrap().into_inner()).await;
        }
        assert_eq!(peer.requests()[0].messages(), [b"1", b"2", b"3"]);
    }
}

/// W13, F133: never ready is `DEADLINE_EXCEEDED` at the deadline, one attempt, one failure.
#[tokio::test(start_paused = true)]
async fn w13_never_ready_ends_at_the_deadline() {
    let net = Network::new();
    let builder = guarded().wait_for_ready(true).timeout(Duration::from_secs(1)).unwrap();
    let service = builder.build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    let started = net.dials("a").len();
    let limit = Duration::from_millis(1_001);
    let status = tokio::time::timeout(limit, client.unary("ping")).await.unwrap().unwrap_err();
    assert_eq!((status.code(), started), (Code::DeadlineExceeded, 0));
    let passed = cause::<DeadlinePassed>(&status).unwrap();
    assert_eq!(passed.attempts, 1);
    assert_eq!(sent(passed.last.as_ref().unwrap()), Some(Sent::NotConnected));
    assert_eq!(circuit(&service, ECHO).failures, 1);
}

/// An attempt that was given up may still be held by whoever sends it: what it reads from then on
/// would be lost to the next one.
#[tokio::test(start_paused = true)]
async fn a_request_stream_lent_again_is_taken_back_first() {
    for waits in [false, true] {
        let inner = service(|call, request: Request<Body>| async move {
            if call == 0 {
                // Fails, and reads on behind the caller's back.
                tokio::spawn(async {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    let read = request.into_body().collect().await;
                    assert!(read.is_err(), "it has been taken back");
                });
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
            }
            let body = request.into_body().collect().await?.to_bytes();
            assert_eq!(body, [framed(b"1"), framed(b"2")].concat());
            answer([data(framed(b"pong")), trailers(&tonic::Status::ok(""))])
        });
        let builder = if waits { guarded().wait_for_ready(true) } else { guarded() };
        let service = builder.build(inner).unwrap();
        let requests = tokio_stream::iter(["1", "2"].map(Bytes::from));
        let answer = RawClient::of(UPLOAD, service).client_streaming(requests).await;
        assert_eq!(answer.unwrap().into_inner(), "pong");
    }
}
