//! This file knows what is left of a call whose stream the server ends without headers.

use evenkeel_core::{Code, Sent};
use evenkeel_tonic::TransportError;
use h2::Reason;

use crate::peer::Peer;
use crate::{assert_means, failure, find};

async fn reset(reason: Reason) -> TransportError {
    failure(move |mut peer: Peer| async move {
        let stream = peer.first_request().await;
        peer.reset(stream, reason).await;
        peer.ignore().await;
    })
    .await
}

#[tokio::test]
async fn g31_refused_stream() {
    let error = reset(Reason::REFUSED_STREAM).await;
    assert_means(&error, Code::Unavailable, Sent::Refused);
}

#[tokio::test]
async fn g37_reset_in_the_handler() {
    let table = [
        (Reason::NO_ERROR, Code::Internal),
        (Reason::PROTOCOL_ERROR, Code::Internal),
        (Reason::INTERNAL_ERROR, Code::Internal),
        (Reason::FLOW_CONTROL_ERROR, Code::Internal),
        (Reason::CANCEL, Code::Cancelled),
        (Reason::ENHANCE_YOUR_CALM, Code::ResourceExhausted),
        (Reason::INADEQUATE_SECURITY, Code::PermissionDenied),
        (Reason::HTTP_1_1_REQUIRED, Code::Unknown),
    ];
    for (reason, code) in table {
        assert_means(&reset(reason).await, code, Sent::Maybe);
    }
}

/// All depends on this: with another major version of hyper or h2 than tonic's, the errors are of
/// types nobody here knows.
#[tokio::test]
async fn hyper_and_h2_are_the_ones_tonic_uses() {
    let error = reset(Reason::CANCEL).await;
    assert!(find::<tonic::transport::Error>(&error).is_some());
    assert!(find::<hyper::Error>(&error).is_some());
    let h2 = find::<h2::Error>(&error).expect("the reset");
    assert_eq!(h2.reason(), Some(Reason::CANCEL));
}

#[tokio::test]
async fn g33_goaway_below_our_stream() {
    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM, Reason::INADEQUATE_SECURITY] {
        let error = failure(move |mut peer: Peer| async move {
            let stream = peer.first_request().await;
            assert_eq!(stream, 1);
            peer.go_away(0, reason).await;
            peer.ignore().await;
        })
        .await;
        assert_means(&error, Code::Unavailable, Sent::Refused);
    }
}

#[tokio::test]
async fn goaway_that_took_our_stream() {
    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM] {
        let error = failure(move |mut peer: Peer| async move {
            let stream = peer.first_request().await;
            peer.go_away(stream, reason).await;
        })
        .await;
        assert_means(&error, Code::Unavailable, Sent::Maybe);
    }
}
