//! Messages from nothing to 8 MiB, on both sides of every limit there is: HTTP/2's frame, the
//! replay limit, the hold limit, and tonic's own.

use crate::parts::message;
use crate::{CHARGE, ECHO, client_of, guarded, stopped};
use bytes::Bytes;
use evenkeel_core::StopReason;
use evenkeel_tests::{Network, Peer, RawClient, Reply};
use tonic::transport::Channel;
use tonic::{Code, Status};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Kept for a second attempt.
const REPLAY_LIMIT: usize = 256 * KIB;
/// Held back until the status is known.
const HOLD_LIMIT: usize = 4 * MIB;

const LENGTHS: [usize; 13] = [
    0,
    1,
    5,
    16 * KIB - 1,
    16 * KIB,
    16 * KIB + 1,
    REPLAY_LIMIT - 1,
    REPLAY_LIMIT,
    REPLAY_LIMIT + 1,
    HOLD_LIMIT - 1,
    HOLD_LIMIT,
    HOLD_LIMIT + 1,
    8 * MIB,
];

/// A client that decodes more than tonic does by default, and a peer with these replies.
fn roomy(
    method: &'static str,
    replies: impl IntoIterator<Item = Reply>,
) -> (RawClient<evenkeel_tonic::Resilient<Channel>>, Peer) {
    let (client, peer) = client_of(method, replies);
    (client.tuned(|grpc| grpc.max_decoding_message_size(16 * MIB)), peer)
}

#[tokio::test(start_paused = true)]
async fn a_message_of_any_length_goes_there_and_back() {
    for length in LENGTHS {
        for method in [ECHO, CHARGE] {
            let original = message(length);
            let (mut client, peer) = roomy(method, [Reply::ok(original.clone())]);
            let echo = client.unary(original.clone()).await.unwrap().into_inner();
            assert_eq!(echo, original, "{length} B of {method}");
            assert_eq!(peer.count(), 1);
            assert_eq!(peer.requests()[0].messages(), [&original[..]], "{length} B of {method}");
        }
    }
}

/// G41, F56: above the limit a message is sent once, and the failure is the server's own.
#[tokio::test(start_paused = true)]
async fn f56_a_request_over_the_limit_is_sent_once() {
    for length in LENGTHS.into_iter().filter(|length| *length > REPLAY_LIMIT) {
        let original = message(length);
        let (mut client, peer) =
            roomy(ECHO, [Reply::status(Status::unavailable("busy")), Reply::ok("")]);
        let status = client.unary(original.clone()).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::Unavailable, "busy"), "{length} B");
        assert_eq!(stopped(&status), Some(StopReason::NotReplayable), "{length} B");
        assert_eq!(peer.count(), 1);
        assert_eq!(peer.requests()[0].messages(), [&original[..]], "{length} B");
    }
}

/// tonic's limit is the caller's own, and no sign of a sick server.
#[tokio::test(start_paused = true)]
async fn a_response_over_the_decoders_limit_is_refused_above_us() {
    let (mut client, peer) = client_of(ECHO, [Reply::ok(message(HOLD_LIMIT + 1))]);
    let status = client.unary(Bytes::new()).await.unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange);
    assert_eq!(peer.count(), 1);
}
