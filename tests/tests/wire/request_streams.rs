//! Calls whose request is a stream: G47, G48, R11 and R12.

use bytes::Bytes;
use evenkeel_tests::{Reason, Reply};
use evenkeel_tonic::core::{RetryPolicy, Sent, StopReason};
use evenkeel_tonic::{Builder, Stopped, TransportError, cause};
use tokio_stream::{Stream, iter};
use tonic::{Code, Status};

use crate::lab::{CHAT, ECHO, Lab, UPLOAD, busy, code, ok, pass};
use crate::policies::{bare, client, only, retries};

/// Retries for everything, request streams by name.
fn three() -> Builder {
    client().retry(retries(3, 100)).idempotent(only(&[ECHO, UPLOAD, CHAT]))
}

fn messages(messages: &[&'static str]) -> impl Stream<Item = Bytes> + Send + Unpin + use<> {
    iter(messages.iter().map(|message| Bytes::from(*message)).collect::<Vec<_>>())
}

async fn upload(lab: &Lab, sent: &[&'static str]) -> Result<Bytes, Status> {
    let answer = lab.client(UPLOAD).client_streaming(messages(sent)).await?;
    Ok(answer.into_inner())
}

#[tokio::test(start_paused = true)]
async fn g47_and_r11_a_request_stream_is_sent_once() {
    for sent in [&["1", "2", "3"][..], &["1"], &[]] {
        let lab = Lab::new(three(), [busy(), ok()]);
        let failed = upload(&lab, sent).await.unwrap_err();
        assert_eq!((failed.code(), lab.peer.count()), (Code::Unavailable, 1), "{sent:?}");
        assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::NotReplayable);
        assert_eq!(lab.peer.requests()[0].messages().len(), sent.len());
    }
}

/// A stream of one message that is there at once looks like a unary call to who sees only bytes.
#[tokio::test(start_paused = true)]
async fn g47_without_a_method_table_one_message_is_taken_for_unary() {
    let three = || bare().retry(retries(3, 100));
    let lab = Lab::new(three(), [busy(), ok()]);
    assert_eq!(upload(&lab, &["1"]).await.unwrap(), "pong");
    assert_eq!(lab.peer.count(), 2);

    let lab = Lab::new(three(), [busy(), ok()]);
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let later = async {
        pass(10).await;
        sender.send(Bytes::from("1")).await.unwrap();
        drop(sender);
    };
    let stream = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut client = lab.client(UPLOAD);
    let (answer, ()) = tokio::join!(client.client_streaming(stream), later);
    assert_eq!((code(&answer), lab.peer.count()), (Code::Unavailable, 1));
}

/// tonic puts what is ready into one frame, but a frame of several messages is no unary request.
#[tokio::test(start_paused = true)]
async fn g47_without_a_method_table_a_longer_stream_is_sent_once() {
    for sent in [&["1", "2", "3"][..], &["1", ""], &["", ""]] {
        let lab = Lab::new(bare().retry(retries(3, 100)), [busy(), ok()]);
        let failed = upload(&lab, sent).await.unwrap_err();
        assert_eq!((failed.code(), lab.peer.count()), (Code::Unavailable, 1), "{sent:?}");
        assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::NotReplayable);
        let sent: Vec<_> = sent.iter().map(|message| message.as_bytes()).collect();
        assert_eq!(lab.peer.requests()[0].messages(), sent);
    }
}

#[tokio::test(start_paused = true)]
async fn r12_a_call_with_both_streams_is_made_once() {
    for builder in [three(), three().retry_streaming()] {
        let broken = Reply::headers().message("1").end(Status::unavailable("broken"));
        let lab = Lab::new(builder, [broken, ok()]);
        let response = lab.client(CHAT).streaming(messages(&["1", "2"])).await.unwrap();
        let (items, status) = evenkeel_tests::drain(response.into_inner()).await;
        assert_eq!((items.len(), status.unwrap().code()), (1, Code::Unavailable));
        assert_eq!(lab.peer.count(), 1);
    }
}

/// Refused though it was, it was read from: what is left of it is not the request.
#[tokio::test(start_paused = true)]
async fn a_refused_request_stream_is_not_repeated() {
    let refused = Reply::hang().reset(Reason::REFUSED_STREAM);
    let lab = Lab::new(three(), [refused, ok()]);
    let failed = upload(&lab, &["1", "2"]).await.unwrap_err();
    assert_eq!((failed.code(), lab.peer.count()), (Code::Unavailable, 1));
    assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::Refused);
}

/// Without a connection nobody reads from it, and so it can be sent when there is one.
#[tokio::test(start_paused = true)]
async fn a_request_stream_that_found_no_connection_is_sent_later() {
    let lab = Lab::dark(client().retry(retries(3, 100)), [ok()]);
    lab.listen_after(150);
    assert_eq!(upload(&lab, &["1", "2", "3"]).await.unwrap(), "pong");
    assert_eq!(lab.net.dials("a").len(), 3);
    let seen = lab.peer.requests();
    assert_eq!((seen.len(), seen[0].messages()), (1, vec![&b"1"[..], b"2", b"3"]));
    assert_eq!(lab.previous(), [Some("2".to_owned())]);
}

/// The end of the caller's stream reaches the server, and the server's answer the caller, without
/// either waiting for the other.
#[tokio::test(start_paused = true)]
async fn g48_the_end_of_the_request_arrives_while_the_response_goes_on() {
    for builder in [three(), bare().retry(RetryPolicy::DEFAULT), three().retry_streaming()] {
        let goes_on = Reply::headers().message("1").early();
        let lab = Lab::new(builder, [goes_on]);
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let stream = tokio_stream::wrappers::ReceiverStream::new(receiver);
        let response = lab.client(CHAT).streaming(stream).await.unwrap();
        let mut stream = response.into_inner();
        assert_eq!(stream.message().await.unwrap().unwrap(), "1");
        assert!(!lab.peer.requests()[0].ended);
        sender.send(Bytes::from("a")).await.unwrap();
        pass(1).await;
        assert_eq!(lab.peer.requests()[0].messages(), [b"a"]);
        drop(sender);
        pass(1).await;
        assert!(lab.peer.requests()[0].ended);
    }
}

/// A caller who cancels its request stream is no failure of the server's.
#[tokio::test(start_paused = true)]
async fn a_request_stream_cancelled_by_its_handle_is_no_verdict() {
    let builder = three().breaker(crate::policies::opens_after(1));
    let lab = Lab::new(builder, [Reply::hang().early()]);
    let (_sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
    let stream = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut request = tonic::Request::new(stream);
    let handle = request.cancellation_handle();
    let cancel = async {
        pass(10).await;
        handle.cancel();
    };
    let mut client = lab.client(UPLOAD);
    let (answer, ()) = tokio::join!(client.client_streaming(request), cancel);
    assert_eq!((code(&answer), lab.peer.count()), (Code::Cancelled, 1));
    assert!(lab.service.circuit_breaker_states()["lab"][UPLOAD].retry_at.is_none());
}
