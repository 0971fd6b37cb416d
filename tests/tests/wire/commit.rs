//! From when on a call cannot be repeated: G38, G40 and G41.

use bytes::Bytes;
use evenkeel_tests::Reply;
use evenkeel_tonic::core::{BreakerState, StopReason};
use evenkeel_tonic::{Builder, Commit, Stopped, cause};
use tonic::{Code, Status};

use crate::lab::{ECHO, KINDS, Lab, busy, code, ok, timed};
use crate::policies::{bare, client, millis, only, opens_after, retries};

/// Headers, and then a failure.
fn late() -> Reply {
    Reply::headers().end(Status::unavailable("late"))
}

/// Headers, a message, and then a failure.
fn later() -> Reply {
    Reply::headers().message("half the truth").end(Status::unavailable("later"))
}

fn three() -> Builder {
    client().retry(retries(3, 100))
}

#[tokio::test(start_paused = true)]
async fn g38_a_unary_response_is_held_until_its_status_is_known() {
    for failure in [late(), later(), later().after(millis(50))] {
        let lab = Lab::new(three(), [failure, ok()]);
        assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
        assert_eq!(lab.peer.count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn g38_by_the_rule_of_grpc_headers_are_final() {
    for (failure, message) in [(late(), "late"), (later(), "later")] {
        let lab = Lab::new(three().commit(Commit::OnHeaders), [failure, ok()]);
        let failed = lab.unary(ECHO).await.unwrap_err();
        assert_eq!((failed.message(), lab.peer.count()), (message, 1));
    }
    // A status in the headers is no response yet.
    let lab = Lab::new(three().commit(Commit::OnHeaders), [busy(), ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    assert_eq!(lab.peer.count(), 2);
}

/// Nobody knows that it is unary, so it may be a stream, and headers are final.
#[tokio::test(start_paused = true)]
async fn g38_without_a_method_table_headers_are_final() {
    let three = || bare().retry(retries(3, 100)).breaker(opens_after(5));
    for (failure, message) in [(late(), "late"), (later(), "later")] {
        let lab = Lab::new(three(), [failure, ok()]);
        let failed = lab.unary(ECHO).await.unwrap_err();
        assert_eq!((failed.message(), lab.peer.count()), (message, 1));
        assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::NotReplayable);
        assert_eq!(lab.circuit(ECHO), (BreakerState::Closed, 1), "the verdict is the trailers'");
    }
    let lab = Lab::new(three(), [busy(), ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    assert_eq!(lab.peer.count(), 2);
}

/// What is held is given on whole: message, headers and trailers.
#[tokio::test(start_paused = true)]
async fn a_held_response_loses_nothing() {
    let long = Bytes::from(vec![b'y'; 1 << 20]);
    let reply = Reply::headers()
        .header("before", "1")
        .message(long.clone())
        .end(Status::ok(""))
        .trailer("after", "2");
    let lab = Lab::new(three(), [reply]);
    let response = lab.client(ECHO).unary("ping").await.unwrap();
    assert_eq!(response.metadata().get("before").unwrap(), "1");
    assert_eq!(response.metadata().get("after").unwrap(), "2");
    assert_eq!(response.into_inner(), long);
}

/// One message of this many bytes, and then a failure.
fn large(bytes: usize) -> Reply {
    let message = Bytes::from(vec![b'y'; bytes]);
    Reply::headers().message(message).end(Status::unavailable("after all"))
}

/// How long the answer of a client is that takes more than is held.
async fn length(lab: &Lab) -> Result<usize, Status> {
    let client = lab.client(ECHO);
    let mut client = client.tuned(|grpc| grpc.max_decoding_message_size(8 << 20));
    Ok(client.unary("ping").await?.into_inner().len())
}

#[tokio::test(start_paused = true)]
async fn g40_a_response_too_large_to_be_held_is_given_on_and_not_repeated() {
    for builder in [three(), three().retry_streaming()] {
        let lab = Lab::new(builder.breaker(opens_after(5)), [large((4 << 20) + 1), ok()]);
        let failed = length(&lab).await.unwrap_err();
        assert_eq!((failed.message(), lab.peer.count()), ("after all", 1));
        assert_eq!(lab.circuit(ECHO), (BreakerState::Closed, 1));
    }
    // One byte less is held.
    let lab = Lab::new(three(), [large(4 << 20), ok()]);
    assert_eq!(length(&lab).await.unwrap(), "pong".len());
    assert_eq!(lab.peer.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn g40_a_response_too_large_to_be_held_arrives_whole_and_within_its_deadline() {
    let large = || Reply::headers().message(Bytes::from(vec![b'y'; 6 << 20]));
    let builder = || three().timeout(millis(1_000)).unwrap();
    let lab = Lab::new(builder(), [large().end(Status::ok(""))]);
    assert_eq!(length(&lab).await.unwrap(), 6 << 20);

    let lab = Lab::new(builder(), [large().wait(millis(1_000)).end(Status::ok(""))]);
    let (failed, took) = timed(length(&lab)).await;
    assert_eq!((code(&failed), took), (Code::DeadlineExceeded, 1_000));
}

fn long() -> tonic::Request<Bytes> {
    tonic::Request::new(Bytes::from(vec![b'x'; 300 << 10]))
}

/// They say how a request is repeated, and not that it is.
#[tokio::test(start_paused = true)]
async fn what_is_said_of_repeats_turns_none_on() {
    let said: [fn(Builder) -> Builder; 3] = [
        |builder| builder.replay_limit(1 << 20),
        |builder| builder.commit(Commit::OnHeaders),
        Builder::retry_streaming,
    ];
    for say in said {
        for kind in KINDS {
            let lab = Lab::new(say(client()), [busy(), ok()]);
            assert_eq!(code(&lab.call(kind).await), Code::Unavailable, "{kind:?}");
            assert_eq!(lab.peer.count(), 1, "{kind:?}");
        }
    }
    let stream = Reply::headers().message("1").end(Status::unavailable("gone"));
    let lab = Lab::new(client().retry_streaming(), [stream, ok()]);
    let (items, status) = lab.export().await;
    assert_eq!((items.len(), status.unwrap().code(), lab.peer.count()), (1, Code::Unavailable, 1));
    // It is remembered for the retries that are asked for afterwards.
    let lab = Lab::new(client().commit(Commit::OnHeaders).retry(retries(3, 100)), [late(), ok()]);
    assert_eq!((code(&lab.unary(ECHO).await), lab.peer.count()), (Code::Unavailable, 1));
}

#[tokio::test(start_paused = true)]
async fn g41_a_request_too_long_to_be_kept_is_sent_once() {
    let broken = [busy(), late(), Reply::hang().close()];
    for failure in broken {
        let lab = Lab::new(three(), [failure, ok()]);
        let failed = lab.client(ECHO).unary(long()).await.unwrap_err();
        assert_eq!((failed.code(), lab.peer.count()), (Code::Unavailable, 1));
        assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::NotReplayable);
        let seen = lab.peer.requests();
        assert_eq!(seen[0].messages(), [&[b'x'; 300 << 10][..]]);
    }
    // Up to the limit it is kept.
    let lab = Lab::new(three().replay_limit(300 << 10), [busy(), ok()]);
    lab.client(ECHO).unary(long()).await.unwrap();
    assert_eq!(lab.peer.count(), 2);
}

/// A call that waits for its connection has sent nothing yet, however long its request is; once
/// sent it is not sent again.
#[tokio::test(start_paused = true)]
async fn g41_a_long_request_waits_for_its_connection_and_is_sent_once() {
    let waiting = || three().timeout(millis(5_000)).unwrap().wait_for_ready(true);
    let lab = Lab::dark(waiting(), [ok()]);
    lab.listen_after(200);
    lab.client(ECHO).unary(long()).await.unwrap();
    assert_eq!(lab.peer.count(), 1);

    let lab = Lab::dark(waiting(), [Reply::hang().close(), ok()]);
    lab.listen_after(200);
    assert_eq!(code(&lab.client(ECHO).unary(long()).await), Code::Unavailable);
    assert_eq!(lab.peer.count(), 1);
}

/// A list that names a unary method, and streams that may be restarted, make no stream of it.
#[tokio::test(start_paused = true)]
async fn restarting_streams_leaves_unary_calls_alone() {
    let builder = three().retry_streaming().idempotent(only(&[ECHO]));
    let listening = evenkeel_tests::Listening::begin();
    let lab = Lab::new(builder, [later(), ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    assert!(listening.warnings().is_empty());
}
