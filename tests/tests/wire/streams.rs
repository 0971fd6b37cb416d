//! Response streams that break, and those that begin anew: G42, G45, G49 and R13 to R18.

use bytes::Bytes;
use evenkeel_tests::{Listening, Reason, Reply};
use evenkeel_tonic::core::{BreakerState, StopReason};
use evenkeel_tonic::{Builder, CircuitOpen, Stopped, cause};
use tonic::{Code, Status};

use crate::lab::{CHAT, EXPORT, Lab, busy, pass};
use crate::policies::{bare, client, only, opens_after, retries};

/// Five items.
fn five() -> Reply {
    Reply::headers().messages(["1", "2", "3", "4", "5"]).end(Status::ok(""))
}

/// Two items, and then it breaks.
fn broken() -> Reply {
    Reply::headers().messages(["1", "2"]).end(Status::unavailable("broken"))
}

/// Three attempts, and streams that begin anew.
fn restarting() -> Builder {
    client().retry(retries(3, 100)).retry_streaming()
}

/// What was received, in one word.
async fn export(lab: &Lab) -> (String, Option<Status>) {
    let (items, status) = lab.export().await;
    (String::from_utf8(items.concat()).unwrap(), status)
}

#[tokio::test(start_paused = true)]
async fn g42_a_broken_stream_is_passed_on_as_it_is() {
    let lab = Lab::new(client().retry(retries(3, 100)).breaker(opens_after(5)), [broken(), five()]);
    let (items, status) = export(&lab).await;
    let status = status.unwrap();
    assert_eq!((&*items, status.code(), status.message()), ("12", Code::Unavailable, "broken"));
    assert_eq!(lab.peer.count(), 1);
    assert_eq!(lab.circuit(EXPORT), (BreakerState::Closed, 1));
}

#[tokio::test(start_paused = true)]
async fn g42_r13_and_r17_a_stream_may_begin_anew_and_says_so() {
    let listening = Listening::begin();
    let lab = Lab::new(restarting(), [broken(), five()]);
    let (items, status) = export(&lab).await;
    assert_eq!((&*items, status.is_none()), ("1212345", true));
    assert_eq!(lab.starts(), [0, 100]);
    assert_eq!(lab.previous(), [None, Some("1".to_owned())]);
    let warnings = listening.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(EXPORT), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn r14_and_r17_a_stream_that_always_breaks_runs_out_of_attempts() {
    let listening = Listening::begin();
    let lab = Lab::new(restarting(), [broken()]);
    let (items, status) = export(&lab).await;
    let status = status.unwrap();
    assert_eq!((&*items, status.message(), lab.peer.count()), ("121212", "broken", 3));
    assert_eq!(cause::<Stopped>(&status).unwrap().reason, StopReason::AttemptsUsedUp);
    assert_eq!(listening.warnings().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn r15_both_the_flag_and_a_list_are_needed() {
    let retry = || bare().retry(retries(3, 100));
    for (builder, sent) in [
        (retry().retry_streaming(), 1),
        (retry().idempotent(only(&[EXPORT])), 1),
        (retry().retry_streaming().idempotent(only(&[CHAT])), 1),
        (retry().retry_streaming().idempotent(only(&[EXPORT])), 3),
    ] {
        let lab = Lab::new(builder, [broken()]);
        assert!(export(&lab).await.1.is_some());
        assert_eq!(lab.peer.count(), sent);
    }
}

/// Without the opt-in nothing is repeated, not even a stream that failed before anything came.
#[tokio::test(start_paused = true)]
async fn r15_a_stream_that_fails_before_its_first_item_is_not_repeated_either() {
    let headers = Reply::headers().end(Status::unavailable("broken"));
    for failure in [busy(), headers.clone(), Reply::hang().close()] {
        let lab = Lab::new(client().retry(retries(3, 100)), [failure.clone(), five()]);
        assert!(export(&lab).await.1.is_some());
        assert_eq!(lab.peer.count(), 1);
        // With it, it is; and nothing repeats that the caller would have to be warned of.
        let lab = Lab::new(restarting(), [failure, five()]);
        assert_eq!(export(&lab).await.0, "12345");
        assert_eq!(lab.peer.count(), 2);
    }
}

/// Without a table nobody knows that it is a stream: gRPC's rule holds, and ends with its headers.
#[tokio::test(start_paused = true)]
async fn r15_without_a_method_table_a_stream_is_repeated_until_its_headers() {
    let headers = Reply::headers().end(Status::unavailable("broken"));
    for (failure, sent) in [(busy(), 2), (headers, 1)] {
        let lab = Lab::new(bare().retry(retries(3, 100)), [failure, five()]);
        assert_eq!(export(&lab).await.1.is_some(), sent == 1);
        assert_eq!(lab.peer.count(), sent);
    }
}

/// What was certainly not executed is repeated for streams too, opt-in or not.
#[tokio::test(start_paused = true)]
async fn a_refused_stream_of_responses_is_repeated_once() {
    let refused = Reply::hang().reset(Reason::REFUSED_STREAM);
    let lab = Lab::new(client().retry(retries(3, 100)), [refused, five()]);
    assert_eq!(export(&lab).await.0, "12345");
    assert_eq!(lab.starts(), [0, 0]);
}

/// The call is on its way when the caller gets the stream, and before it is read from.
#[tokio::test(start_paused = true)]
async fn r16_the_call_is_made_before_its_stream_is_handed_out() {
    let lab = Lab::new(restarting(), [five()]);
    let stream = lab.client(EXPORT).server_streaming("ping").await.unwrap();
    assert_eq!(lab.peer.count(), 1);
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn r18_a_stream_that_is_dropped_while_it_waits_to_begin_anew_does_not() {
    let lab = Lab::new(restarting().breaker(opens_after(5)), [broken(), five()]);
    let response = lab.client(EXPORT).server_streaming("ping").await.unwrap();
    let mut stream = response.into_inner();
    assert_eq!(stream.message().await.unwrap().unwrap(), "1");
    assert_eq!(stream.message().await.unwrap().unwrap(), "2");
    let third = tokio::time::timeout(core::time::Duration::from_millis(50), stream.message());
    assert!(third.await.is_err(), "it waits for its second attempt");
    drop(stream);
    pass(1_000).await;
    assert_eq!(lab.peer.count(), 1);
    assert_eq!(lab.circuit(EXPORT), (BreakerState::Closed, 1));
}

#[tokio::test(start_paused = true)]
async fn g45_a_restart_that_the_breaker_refuses_ends_the_stream() {
    let listening = Listening::begin();
    let lab = Lab::new(restarting().breaker(opens_after(1)), [broken(), five()]);
    listening.forget();
    let (items, status) = export(&lab).await;
    let status = status.unwrap();
    assert_eq!((&*items, status.code(), lab.peer.count()), ("12", Code::Unavailable, 1));
    let open = cause::<CircuitOpen>(&status).unwrap();
    assert_eq!((open.attempts, &*open.key.method), (1, EXPORT));
    assert_eq!(open.last.as_ref().unwrap().message(), "broken");
    assert!(listening.warnings().is_empty(), "nothing was begun anew");
}

#[tokio::test(start_paused = true)]
async fn g49_a_stream_without_a_status_is_unknown_and_final() {
    let cut_short = Reply::headers().messages(["1", "2"]).end_without_status();
    let lab = Lab::new(restarting().breaker(opens_after(5)), [cut_short, five()]);
    let (items, status) = export(&lab).await;
    assert_eq!((&*items, status.unwrap().code()), ("12", Code::Unknown));
    assert_eq!(lab.peer.count(), 1);
    assert_eq!(lab.circuit(EXPORT), (BreakerState::Closed, 1));
}

/// Items and trailers arrive as they were sent.
#[tokio::test(start_paused = true)]
async fn a_stream_loses_nothing() {
    for builder in [client(), client().timeout(crate::policies::millis(500)).unwrap(), restarting()]
    {
        let large = Bytes::from(vec![b'y'; 3 << 20]);
        let reply = Reply::headers()
            .messages([large.clone(), Bytes::new(), Bytes::from("3")])
            .end(Status::ok(""))
            .trailer("after", "2");
        let lab = Lab::new(builder, [reply]);
        let response = lab.client(EXPORT).server_streaming("ping").await.unwrap();
        let mut stream = response.into_inner();
        for item in [large, Bytes::new(), Bytes::from("3")] {
            assert_eq!(stream.message().await.unwrap().unwrap(), item);
        }
        assert_eq!(stream.message().await.unwrap(), None);
        assert_eq!(stream.trailers().await.unwrap().unwrap().get("after").unwrap(), "2");
    }
}
