//! How a response stream ends, and what was read of it by then.

use crate::client_of;
use bytes::Bytes;
use core::time::Duration;
use evenkeel_tests::{Last, Reason, Reply, drain};
use tonic::{Code, Request, Status};

/// The messages of a stream that is answered like this, and how it ended.
async fn stream_of(reply: Reply) -> (Vec<Bytes>, Option<Code>) {
    let (mut client, _peer) = client_of([reply]);
    let stream = client.server_streaming("watch").await.unwrap().into_inner();
    let (messages, status) = drain(stream).await;
    (messages, status.map(|status| status.code()))
}

fn two() -> Reply {
    Reply::headers().messages(["1", "2"])
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_its_status() {
    let ok = two().end(Status::ok(""));
    assert_eq!(stream_of(ok).await, (vec!["1".into(), "2".into()], None));
    for (end, code) in [
        (two().end(Status::unavailable("gone")), Code::Unavailable),
        (two().end_without_status(), Code::Unknown),
        (two().reset(Reason::CANCEL), Code::Cancelled),
        (two().reset(Reason::REFUSED_STREAM), Code::Unavailable),
        (two().reset(Reason::INTERNAL_ERROR), Code::Internal),
        (two().go_away(Last::Before, Reason::ENHANCE_YOUR_CALM), Code::ResourceExhausted),
        // hyper takes both for a clean end.
        (two().reset(Reason::NO_ERROR), Code::Unknown),
        (two().go_away(Last::Before, Reason::NO_ERROR), Code::Unknown),
        (two().close(), Code::Unknown),
        (two().abort(), Code::Unknown),
        (two().half("3 and more").close(), Code::Unknown),
        (two().half("3 and more").end_without_status(), Code::Internal),
        (two().half("3 and more").reset(Reason::CANCEL), Code::Cancelled),
    ] {
        let name = format!("{end:?}");
        assert_eq!(stream_of(end).await, (vec!["1".into(), "2".into()], Some(code)), "{name}");
    }
}

/// What is missing of a message goes unnoticed when the trailers say OK.
#[tokio::test(start_paused = true)]
async fn half_a_message_before_ok_is_dropped_silently() {
    let halved = two().half("3 and more").end(Status::ok(""));
    assert_eq!(stream_of(halved).await, (vec!["1".into(), "2".into()], None));
}

#[tokio::test(start_paused = true)]
async fn it_may_be_larger_than_any_window() {
    let large = "y".repeat(3 << 20);
    let (mut client, peer) = client_of([Reply::ok(large.clone())]);
    let answer = client.unary(Bytes::from(large.clone())).await.unwrap();
    assert_eq!(answer.into_inner(), large);
    assert_eq!(peer.requests()[0].messages(), [large.as_bytes()]);
}

/// More than the pipe holds, so that it is still being written when the rest is said.
#[tokio::test(start_paused = true)]
async fn what_was_said_before_a_break_arrives() {
    let large = "y".repeat(1 << 20);
    let large = || Reply::headers().message(large.clone());
    for (end, code) in [
        (large().close(), Code::Unknown),
        (large().reset(Reason::REFUSED_STREAM), Code::Unavailable),
        (large().go_away(Last::Before, Reason::ENHANCE_YOUR_CALM), Code::ResourceExhausted),
    ] {
        let (messages, status) = stream_of(end).await;
        assert_eq!(messages.iter().map(Bytes::len).collect::<Vec<_>>(), [1 << 20]);
        assert_eq!(status, Some(code));
    }
}

/// tonic's timer stops at the headers.
#[tokio::test(start_paused = true)]
async fn a_grpc_timeout_does_not_end_it() {
    let second = Duration::from_secs(1);
    let reply = Reply::headers().message("1").wait(second).message("2").end(Status::ok(""));
    let (mut client, peer) = client_of([reply]);
    let mut request = Request::new("watch");
    request.set_timeout(second / 4);
    let stream = client.server_streaming(request).await.unwrap().into_inner();
    assert_eq!(drain(stream).await.0, ["1", "2"]);
    assert_eq!(peer.requests()[0].timeout(), Some(second / 4));
}

#[tokio::test(start_paused = true)]
async fn dropping_it_resets_it() {
    let (mut client, peer) = client_of([two()]);
    let mut stream = client.server_streaming("watch").await.unwrap().into_inner();
    assert_eq!(stream.message().await.unwrap().unwrap(), "1");
    assert_eq!(peer.requests()[0].reset, None);
    drop(stream);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(peer.requests()[0].reset, Some((Duration::ZERO, Reason::CANCEL)));
}

#[tokio::test(start_paused = true)]
async fn requests_are_recorded_as_they_come() {
    let (messages, requests) = tokio::sync::mpsc::channel(4);
    let (mut client, peer) = client_of([two().early()]);
    let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
    let answer = client.streaming(requests).await.unwrap();
    messages.send(Bytes::from_static(b"a")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(peer.requests()[0].messages(), [b"a"]);
    assert!(!peer.requests()[0].ended);
    drop(messages);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(peer.requests()[0].ended);
    drop(answer);
}
