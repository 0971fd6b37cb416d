//! What raw tonic says when the connection fails, and what really happened.
//!
//! Codes alone do not tell "never sent" from "maybe executed"; the errors below them do.

use crate::{cause, client_of, code_of, status_of};
use core::time::Duration;
use evenkeel_tests::{Greeting, Last, Network, Peer, RawClient, Reason, Reply};
use std::io;
use tonic::{Code, Status};

#[tokio::test(start_paused = true)]
async fn a_reset_keeps_its_reason() {
    for (reason, code) in [
        (Reason::REFUSED_STREAM, Code::Unavailable),
        (Reason::CANCEL, Code::Cancelled),
        (Reason::INTERNAL_ERROR, Code::Internal),
        (Reason::NO_ERROR, Code::Internal),
        (Reason::ENHANCE_YOUR_CALM, Code::ResourceExhausted),
    ] {
        let status = status_of(Reply::hang().reset(reason)).await;
        assert_eq!(status.code(), code, "{reason:?}");
        let cause = cause::<h2::Error>(&status).unwrap();
        assert!(cause.is_reset() && cause.is_remote());
        assert_eq!(cause.reason(), Some(reason));
    }
}

/// Proof that the request was not processed, whatever code tonic makes of it.
#[tokio::test(start_paused = true)]
async fn a_go_away_below_the_request() {
    for (reason, code) in
        [(Reason::NO_ERROR, Code::Internal), (Reason::ENHANCE_YOUR_CALM, Code::ResourceExhausted)]
    {
        let go_away = Reply::hang().go_away(Last::Before, reason);
        let (mut client, peer) = client_of([go_away, Reply::ok("pong")]);
        let status = client.unary("ping").await.unwrap_err();
        assert_eq!(status.code(), code, "{reason:?}");
        let cause = cause::<h2::Error>(&status).unwrap();
        assert!(cause.is_go_away() && cause.is_remote());
        assert_eq!(cause.reason(), Some(reason));
        // The connection is not used again.
        assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
        assert_eq!(peer.connections(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_go_away_that_accepts_the_request_lets_it_finish() {
    let accepting = |reason| Reply::hang().go_away(Last::This, reason);
    let (mut client, peer) = client_of([accepting(Reason::NO_ERROR)
        .wait(Duration::from_secs(1))
        .message("pong")
        .end(Status::ok(""))]);
    assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
    assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
    assert_eq!(peer.connections(), 2);

    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM] {
        assert_eq!(code_of(accepting(reason).close()).await, Code::Unknown, "{reason:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_lost_after_the_request() {
    for (reply, kind) in [
        (Reply::hang().close(), io::ErrorKind::BrokenPipe),
        (Reply::hang().abort(), io::ErrorKind::ConnectionReset),
    ] {
        let status = status_of(reply).await;
        assert_eq!(status.code(), Code::Unknown);
        let hyper = cause::<hyper::Error>(&status).unwrap();
        assert!(!hyper.is_canceled());
        assert_eq!(cause::<io::Error>(&status).unwrap().kind(), kind);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_lost_before_the_request() {
    for greeting in [Greeting::Close, Greeting::CloseAfterPreface] {
        let net = Network::new();
        let peer = Peer::new([]).greeting([greeting]).listen(&net, "a");
        let status = RawClient::new(net.channel("a")).unary("ping").await.unwrap_err();
        assert_eq!(status.code(), Code::Unknown, "{greeting:?}");
        assert_eq!(peer.count(), 0);
    }
}

/// Of three calls on a connection that takes one stream, the second waits for its stream to open
/// and the third in hyper's queue. Neither was sent, but only the third says so.
#[tokio::test(start_paused = true)]
async fn a_connection_lost_under_queued_requests() {
    let net = Network::new();
    let dies = Reply::hang().close().after(Duration::from_secs(1));
    let peer = Peer::new([dies]).max_streams(1).listen(&net, "a");
    let channel = net.channel("a");
    // Settings have to arrive before the limit is known.
    let call = async |wait| {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        RawClient::new(channel.clone()).unary("ping").await.unwrap_err()
    };
    let (sent, opening, queued) = tokio::join!(call(0), call(10), call(20));
    assert_eq!(sent.code(), Code::Unknown);
    assert_eq!(opening.code(), Code::Unknown);
    assert!(cause::<hyper::Error>(&opening).unwrap().is_user());
    assert_eq!(queued.code(), Code::Cancelled);
    assert!(cause::<hyper::Error>(&queued).unwrap().is_canceled());
    assert_eq!(peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_between_calls_is_dialled_again() {
    let (mut client, peer) = client_of([Reply::ok("pong").close()]);
    for _ in 0..3 {
        assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(peer.connections(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_hangs_a_call_for_ever() {
    let net = Network::new();
    let peer = Peer::new([]).greeting([Greeting::Silent, Greeting::Serve]).listen(&net, "a");
    let mut client = RawClient::new(net.channel("a"));
    let hour = Duration::from_secs(3600);
    assert!(tokio::time::timeout(hour, client.unary("ping")).await.is_err());
    assert_eq!((peer.connections(), peer.count()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_reset_at_the_peer() {
    let (mut client, peer) = client_of([Reply::hang()]);
    let half_a_second = Duration::from_millis(500);
    assert!(tokio::time::timeout(half_a_second, client.unary("ping")).await.is_err());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(peer.requests()[0].reset, Some((half_a_second, Reason::CANCEL)));
}

/// tonic's own timer: the code is wrong, and the time is right.
#[tokio::test(start_paused = true)]
async fn a_grpc_timeout_ends_as_cancelled() {
    let (mut client, peer) = client_of([Reply::hang()]);
    let mut request = tonic::Request::new("ping");
    request.set_timeout(Duration::from_secs(30));
    let status = client.unary(request).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Cancelled, "Timeout expired"));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(peer.requests()[0].reset, Some((Duration::from_secs(30), Reason::CANCEL)));
}
