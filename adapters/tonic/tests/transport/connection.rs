//! This file knows what is left of a call whose connection ends before the response headers.

use core::time::Duration;
use std::io;

use evenkeel_core::{Code, Sent};
use h2::Reason;
use http::Request;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};

use crate::peer::{ONE_STREAM, Peer, call, channel, endpoint, send};
use crate::{assert_means, failure, find};

#[tokio::test]
async fn closed_after_the_request() {
    let error = failure(|mut peer: Peer| async move {
        peer.first_request().await;
    })
    .await;
    assert_means(&error, Code::Unavailable, Sent::Maybe);
    assert!(find::<io::Error>(&error).is_some());
}

#[tokio::test]
async fn closed_without_a_word() {
    let error = failure(|_| async {}).await;
    assert_means(&error, Code::Unavailable, Sent::Maybe);
}

#[tokio::test]
async fn reset_after_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (io, _) = listener.accept().await.expect("a client");
        let mut peer = Peer { io };
        peer.first_request().await;
        peer.io.set_zero_linger().expect("a socket");
    });
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a URI");

    let error = call(&endpoint.connect_lazy()).await.expect_err("a reset");
    assert_means(&error, Code::Unavailable, Sent::Maybe);
    assert!(find::<hyper::Error>(&error).is_some());
}

/// A channel with a connection that has answered a call, and the peer at its other end.
async fn connected() -> (Channel, Peer) {
    let (hand_over, peer) = oneshot::channel();
    let mut hand_over = Some(hand_over);
    let channel = channel(endpoint(), move |mut peer| {
        let hand_over = hand_over.take();
        async move {
            let stream = peer.first_request().await;
            peer.headers(stream).await;
            peer.trailers(stream).await;
            let _ = hand_over.expect("the only dial").send(peer);
        }
    });
    call(&channel).await.expect("a connection that works");
    (channel, peer.await.expect("a peer"))
}

// What the peer does here, no task of the client's has seen when the next call goes into its
// queue: on one thread, nothing runs between two lines without an await that waits.

#[tokio::test]
async fn g35_closed_while_the_request_is_queued() {
    let (channel, peer) = connected().await;
    drop(peer);
    let error = call(&channel).await.expect_err("closed");
    assert_means(&error, Code::Unavailable, Sent::Never);
    assert!(find::<hyper::Error>(&error).is_some_and(hyper::Error::is_canceled));
}

#[tokio::test]
async fn g35_goaway_while_the_request_is_queued() {
    for last in [1, u32::MAX >> 1] {
        let (channel, mut peer) = connected().await;
        peer.go_away(last, Reason::NO_ERROR).await;
        let error = call(&channel).await.expect_err("closing");
        assert_means(&error, Code::Unavailable, Sent::Never);
    }
}

/// hyper forgets the request that waits for a free stream and answers for it with a user error.
#[tokio::test(start_paused = true)]
async fn lost_while_waiting_for_a_free_stream() {
    let channel = channel(endpoint(), |mut peer| async move {
        peer.greet(&ONE_STREAM).await;
        peer.request().await;
        // Time for the settings to arrive, and for the second call to get in line.
        tokio::time::sleep(Duration::from_secs(1)).await;
    });
    let later = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        call(&channel).await
    };
    let (first, second) = tokio::join!(call(&channel), later);
    assert_means(&first.expect_err("lost"), Code::Unavailable, Sent::Maybe);
    let second = second.expect_err("lost");
    assert_means(&second, Code::Unavailable, Sent::Maybe);
    assert!(find::<hyper::Error>(&second).is_some_and(hyper::Error::is_user));
}

#[tokio::test(start_paused = true)]
async fn a_ping_without_an_answer() {
    let endpoint = endpoint()
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    let channel = channel(endpoint, |mut peer| async move {
        peer.first_request().await;
        peer.ignore().await;
    });
    let error = call(&channel).await.expect_err("silence");
    assert_means(&error, Code::Unavailable, Sent::Maybe);
    assert!(find::<hyper::Error>(&error).is_some_and(hyper::Error::is_timeout));
}

#[tokio::test(start_paused = true)]
async fn tonics_timers_mean_the_deadline() {
    let silent = |mut peer: Peer| async move { peer.ignore().await };

    let of_endpoint = channel(endpoint().timeout(Duration::from_secs(1)), silent);
    let error = call(&of_endpoint).await.expect_err("too late");
    assert_means(&error, Code::DeadlineExceeded, Sent::Maybe);

    let request = Request::post("/pkg.Service/Method").header("grpc-timeout", "1S");
    let request = request.body(Body::empty()).expect("a valid request");
    let error = send(&channel(endpoint(), silent), request).await.expect_err("too late");
    assert_means(&error, Code::DeadlineExceeded, Sent::Maybe);
}

/// What h2 calls a connection error of its own making, it hands to every stream there is.
#[tokio::test]
async fn somebody_who_stops_speaking_http2() {
    let error = failure(|mut peer: Peer| async move {
        peer.first_request().await;
        peer.io.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.expect("the client reads");
        peer.ignore().await;
    })
    .await;
    assert_means(&error, Code::Internal, Sent::Maybe);
    assert!(find::<h2::Error>(&error).is_some_and(h2::Error::is_go_away));
}
