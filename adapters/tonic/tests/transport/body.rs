//! This file knows what is left of a call that fails after its response headers.
//!
//! The server has looked at these requests, so none may be repeated for any method.

use core::future::Future;

use evenkeel_core::{Code, Sent};
use evenkeel_tonic::TransportError;
use h2::Reason;
use http_body_util::BodyExt;
use tonic::body::Body;

use crate::peer::{Peer, call, channel, endpoint};
use crate::{assert_means, find};

/// The body of a response whose first message has been read. Then the peer runs `script`.
async fn body<S, F>(script: S) -> Body
where
    S: Fn(Peer, u32) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let channel = channel(endpoint(), move |mut peer| {
        let script = script.clone();
        async move {
            let stream = peer.first_request().await;
            peer.headers(stream).await;
            peer.message(stream).await;
            script(peer, stream).await;
        }
    });
    let mut body = call(&channel).await.expect("headers").into_body();
    assert!(body.frame().await.expect("a message").expect("a message").is_data());
    body
}

async fn failure<S, F>(script: S) -> TransportError
where
    S: Fn(Peer, u32) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let next = body(script).await.frame().await.expect("not the end");
    TransportError::in_body(next.expect_err("no frame"))
}

async fn reset(reason: Reason) -> TransportError {
    failure(move |mut peer, stream| async move {
        peer.reset(stream, reason).await;
        peer.ignore().await;
    })
    .await
}

#[tokio::test]
async fn a_reset_keeps_its_reason() {
    let table = [
        (Reason::CANCEL, Code::Cancelled),
        (Reason::REFUSED_STREAM, Code::Unavailable),
        (Reason::INTERNAL_ERROR, Code::Internal),
        (Reason::ENHANCE_YOUR_CALM, Code::ResourceExhausted),
    ];
    for (reason, code) in table {
        let error = reset(reason).await;
        assert_means(&error, code, Sent::Maybe);
        assert!(find::<h2::Error>(&error).is_some_and(|h2| h2.reason() == Some(reason)));
    }
}

#[tokio::test]
async fn a_reset_without_an_error_is_an_end_without_a_status() {
    let mut body = body(|mut peer, stream| async move {
        peer.reset(stream, Reason::NO_ERROR).await;
        peer.ignore().await;
    })
    .await;
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_lost_connection() {
    let error = failure(|_, _| async {}).await;
    assert_means(&error, Code::Unavailable, Sent::Maybe);
}

#[tokio::test]
async fn a_goaway_that_goes_back_on_its_word() {
    let error = failure(|mut peer, _| async move {
        peer.go_away(0, Reason::ENHANCE_YOUR_CALM).await;
        peer.ignore().await;
    })
    .await;
    assert_means(&error, Code::Unavailable, Sent::Maybe);
}
