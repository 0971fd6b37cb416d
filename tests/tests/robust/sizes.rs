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

/// F54: what the second attempt carries is what the first one did.
#[tokio::test(start_paused = true)]
async fn f54_a_request_within_the_limit_is_given_again_whole() {
    for length in LENGTHS.into_iter().filter(|length| *length <= REPLAY_LIMIT) {
        let original = message(length);
        let busy = Reply::status(Status::unavailable("busy"));
        let (mut client, peer) = roomy(ECHO, [busy.clone(), busy, Reply::ok(original.clone())]);
        let echo = client.unary(original.clone()).await.unwrap().into_inner();
        assert_eq!(echo, original, "{length} B");
        assert_eq!(peer.count(), 3);
        for seen in peer.requests() {
            assert_eq!(seen.messages(), [&original[..]], "{length} B");
            assert!(seen.ended);
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

#[tokio::test(start_paused = true)]
async fn the_replay_limit_counts_the_message_and_is_a_setting() {
    for (limit, length, attempts) in
        [(0, 0, 2), (0, 1, 1), (7, 7, 2), (7, 8, 1), (usize::MAX, 8 * MIB, 2)]
    {
        let net = Network::new();
        let replies = [Reply::status(Status::unavailable("busy")), Reply::ok("pong")];
        let peer = Peer::new(replies).listen(&net, "a");
        let service = guarded().replay_limit(limit).build(net.channel("a")).unwrap();
        let answer = RawClient::of(ECHO, service).unary(message(length)).await;
        assert_eq!(answer.is_ok(), attempts == 2, "limit {limit}, {length} B");
        assert_eq!(peer.count(), attempts, "limit {limit}, {length} B");
    }
}

/// What was not handed over yet can be taken back, up to what is held.
#[tokio::test(start_paused = true)]
async fn a_response_that_fails_in_its_trailers_is_repeated_up_to_the_hold_limit() {
    for length in LENGTHS {
        let whole = message(length);
        let fails = Reply::headers().message(whole.clone()).end(Status::unavailable("late"));
        let (mut client, peer) = roomy(ECHO, [fails, Reply::ok(whole.clone())]);
        let answer = client.unary("ping").await.map(tonic::Response::into_inner);
        if length <= HOLD_LIMIT {
            assert_eq!(answer.unwrap(), whole, "{length} B");
            assert_eq!(peer.count(), 2, "{length} B");
        } else {
            // G40: it was handed on, so it is over.
            let status = answer.unwrap_err();
            assert_eq!((status.code(), status.message()), (Code::Unavailable, "late"));
            assert_eq!(peer.count(), 1, "{length} B");
        }
    }
}

/// The opt-in for streams says nothing about a unary response that is too long to hold.
#[tokio::test(start_paused = true)]
async fn a_long_unary_response_is_not_restarted_like_a_stream() {
    for length in [HOLD_LIMIT + 1, 8 * MIB] {
        let net = Network::new();
        let fails = Reply::headers().message(message(length)).end(Status::unavailable("late"));
        let peer = Peer::new([fails, Reply::ok("pong")]).listen(&net, "a");
        let service = guarded().retry_streaming().build(net.channel("a")).unwrap();
        let mut client =
            RawClient::of(ECHO, service).tuned(|grpc| grpc.max_decoding_message_size(16 * MIB));
        assert_eq!(client.unary("ping").await.unwrap_err().code(), Code::Unavailable);
        assert_eq!(peer.count(), 1);
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
