//! What a stream that begins anew must not do: mix up messages, gain time, change its encoding.

use bytes::Bytes;
use evenkeel_tests::{Reply, drain};
use evenkeel_tonic::core::BreakerState;
use evenkeel_tonic::{Builder, DeadlinePassed, TransportError, cause};
use tonic::{Code, Status};

use crate::lab::{EXPORT, Lab, busy, in_millis, statuses, timed};
use crate::policies::{client, millis, opens_after, retries};

fn restarting() -> Builder {
    client().retry(retries(3, 100)).retry_streaming()
}

fn two() -> Reply {
    Reply::headers().messages(["1", "2"])
}

fn three() -> Reply {
    Reply::headers().messages(["1", "2", "3"]).end(Status::ok(""))
}

/// Half a message of the lost attempt, with the first of the next behind it, would be garbage.
#[tokio::test(start_paused = true)]
async fn half_a_message_is_forgotten() {
    let long = "y".repeat(40_000);
    for broken in [
        two().half(long.clone()).close(),
        two().half(long.clone()).abort(),
        two().half(long.clone()).end(Status::unavailable("broken")),
        Reply::headers().half("1234").close(),
    ] {
        let began = broken.clone();
        let lab = Lab::new(restarting(), [broken, three()]);
        let (items, status) = lab.export().await;
        assert!(status.is_none(), "{began:?}: {status:?}");
        let items = items.concat();
        assert!(items == b"12123" || items == b"123", "{items:?}");
    }
}

/// A message longer than is kept for that passes through, and the stream can no longer begin anew.
#[tokio::test(start_paused = true)]
async fn a_message_too_long_to_be_kept_back_is_given_on() {
    let huge = Reply::headers().half(Bytes::from(vec![b'y'; 9 << 20])).close();
    let lab = Lab::new(restarting(), [huge, three()]);
    let (items, status) = lab.export().await;
    assert!(items.is_empty() && status.is_some());
    assert_eq!(lab.peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_runs_on_over_restarts() {
    let slow = two().wait(millis(300)).end(Status::unavailable("broken"));
    let lab = Lab::new(restarting().timeout(millis(1_000)).unwrap(), [slow]);
    let ((items, status), took) = timed(lab.export()).await;
    let status = status.unwrap();
    assert_eq!((items.concat(), took), (b"121212".to_vec(), 1_000));
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(lab.slices(), [(0, 1_000), (400, 600), (900, 100)]);
    assert_eq!(cause::<DeadlinePassed>(&status).unwrap().attempts, 3);
    assert_eq!(statuses(&status).last().unwrap().message(), "broken");
}

/// The caller's decoder was chosen by the first headers.
#[tokio::test(start_paused = true)]
async fn a_restart_in_another_encoding_ends_the_stream() {
    let broken = two().end(Status::unavailable("broken"));
    let gzipped = three().header("grpc-encoding", "gzip");
    let lab = Lab::new(restarting().breaker(opens_after(5)), [broken, gzipped]);
    let (items, status) = lab.export().await;
    let status = status.unwrap();
    assert_eq!((items.concat(), status.code()), (b"12".to_vec(), Code::Internal));
    assert!(status.message().contains("grpc-encoding"), "{status:?}");
    assert_eq!(statuses(&status).last().unwrap().message(), "broken", "and why it began anew");
    assert_eq!(lab.peer.count(), 2);
    // The second attempt says nothing about the server.
    assert_eq!(lab.circuit(EXPORT), (BreakerState::Closed, 1));
    crate::lab::pass(1).await;
    assert!(lab.peer.requests()[1].reset.is_some() || lab.peer.requests()[1].ended);
}

/// To say nothing and to say "identity" is the same.
#[tokio::test(start_paused = true)]
async fn a_restart_may_spell_out_that_nothing_is_encoded() {
    let broken = || two().end(Status::unavailable("broken"));
    let identity = |reply: Reply| reply.header("grpc-encoding", "identity");
    for replies in [[broken(), identity(three())], [identity(broken()), three()]] {
        let lab = Lab::new(restarting(), replies);
        let (items, status) = lab.export().await;
        assert_eq!((items.concat(), status.is_none()), (b"12123".to_vec(), true));
    }
}

/// Of the headers the first count, of the trailers the last.
#[tokio::test(start_paused = true)]
async fn headers_are_the_firsts_and_trailers_the_lasts() {
    let broken = two().header("which", "1").end(Status::unavailable("broken"));
    let whole = three().header("which", "2").trailer("which", "2");
    let lab = Lab::new(restarting(), [broken.trailer("which", "1"), whole]);
    let response = lab.client(EXPORT).server_streaming("ping").await.unwrap();
    assert_eq!(response.metadata().get("which").unwrap(), "1");
    let mut stream = response.into_inner();
    while stream.message().await.unwrap().is_some() {}
    assert_eq!(stream.trailers().await.unwrap().unwrap().get("which").unwrap(), "2");
}

/// A restart may fail before its headers, and be repeated; or find nothing there at all.
#[tokio::test(start_paused = true)]
async fn a_restart_may_fail_like_any_attempt() {
    let broken = || two().end(Status::unavailable("broken"));
    let lab = Lab::new(restarting(), [broken(), busy(), three()]);
    assert_eq!(lab.export().await.0.concat(), b"12123");
    assert_eq!(lab.starts(), [0, 100, 300]);

    // Nothing more to be said: the server has no items this time.
    let empty = Reply::status(Status::ok(""));
    let lab = Lab::new(restarting(), [broken(), empty]);
    let (items, status) = lab.export().await;
    assert_eq!((items.concat(), status.is_none()), (b"12".to_vec(), true));

    let lab = Lab::new(restarting(), [broken(), Reply::http(503)]);
    let (items, status) = lab.export().await;
    assert_eq!((items.concat(), status.unwrap().code()), (b"12".to_vec(), Code::Unavailable));
    assert_eq!(lab.peer.count(), 3);
}

/// What is too long to be kept is not sent a second time for a stream either.
#[tokio::test(start_paused = true)]
async fn a_stream_with_a_long_request_does_not_begin_anew() {
    let broken = two().end(Status::unavailable("broken"));
    let lab = Lab::new(restarting(), [broken, three()]);
    let long = Bytes::from(vec![b'x'; 300 << 10]);
    let response = lab.client(EXPORT).server_streaming(long).await.unwrap();
    let (items, status) = drain(response.into_inner()).await;
    assert_eq!((items.concat(), status.unwrap().message()), (b"12".to_vec(), "broken"));
    assert_eq!(lab.peer.count(), 1);
}

/// The network is gone when it would begin anew.
#[tokio::test(start_paused = true)]
async fn a_restart_may_find_nobody() {
    let lab = Lab::new(restarting(), [two().wait(millis(10)).abort()]);
    let response = lab.client(EXPORT).server_streaming("ping").await.unwrap();
    lab.net.on_dial("a", [evenkeel_tests::Dial::Refuse]);
    let ((items, status), took) = timed(drain(response.into_inner())).await;
    assert_eq!((items.concat(), took), (b"12".to_vec(), 10 + 100 + 200));
    let status = status.unwrap();
    assert_eq!(status.code(), Code::Unavailable);
    let error = cause::<TransportError>(&status).unwrap();
    assert!(error.sent().nothing_executed());
    assert!(cause::<DeadlinePassed>(&status).is_none());
    assert_eq!(
        lab.net.dials("a").iter().map(|at| in_millis(*at)).collect::<Vec<_>>(),
        [0, 110, 310]
    );
}

/// Or wait until somebody is there.
#[tokio::test(start_paused = true)]
async fn a_restart_waits_for_its_connection_if_the_call_does() {
    let builder = restarting().timeout(millis(5_000)).unwrap().wait_for_ready(true);
    let lab = Lab::new(builder, [two().wait(millis(10)).abort(), three()]);
    let response = lab.client(EXPORT).server_streaming("ping").await.unwrap();
    lab.net.on_dial("a", [evenkeel_tests::Dial::Refuse]);
    lab.net.after(millis(1_000), |net| net.on_dial("a", [evenkeel_tests::Dial::Connect]));
    let ((items, status), took) = timed(drain(response.into_inner())).await;
    assert_eq!((items.concat(), status.is_none()), (b"12123".to_vec(), true));
    assert!((1_000..2_000).contains(&took), "{took} ms");
    assert_eq!(lab.previous(), [None, Some("1".to_owned())]);
}
