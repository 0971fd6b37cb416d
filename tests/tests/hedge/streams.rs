//! Response streams: hedged until the first headers, and never afterwards.

use evenkeel_tests::{Reason, Reply, drain};
use tonic::{Code, Status};

use crate::lab::{EXPORT, Lab, busy, fails, hedging, millis, opens_after, pass};

fn stream() -> Reply {
    Reply::headers().messages(["1", "2"]).end(Status::ok(""))
}

async fn export(lab: &Lab) -> (Vec<bytes::Bytes>, Option<Status>) {
    let ended = match lab.client(EXPORT).server_streaming("all").await {
        Ok(response) => drain(response.into_inner()).await,
        Err(status) => (Vec::new(), Some(status)),
    };
    pass(1).await;
    ended
}

#[tokio::test(start_paused = true)]
async fn the_first_to_send_its_headers_is_the_stream() {
    let lab = Lab::new(hedging(20, 2), [Reply::hang(), stream().after(millis(5))]);
    let (messages, status) = export(&lab).await;
    assert_eq!((messages, status.is_none()), (vec!["1".into(), "2".into()], true));
    assert_eq!((lab.starts(), lab.cancelled()), (vec![0, 20], vec![Some(25), None]));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_has_begun_is_not_hedged_however_slow_it_is() {
    let slow = Reply::headers().wait(millis(500)).message("1").end(Status::ok(""));
    let lab = Lab::new(hedging(20, 2).breaker(opens_after(1)), [slow]);
    assert_eq!((export(&lab).await.0.len(), lab.peer.count()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn before_the_headers_failures_follow_the_rules() {
    let lab = Lab::new(hedging(20, 3), [busy(), stream()]);
    assert_eq!((export(&lab).await.0.len(), lab.starts()), (2, vec![0, 0]));

    let lab = Lab::new(hedging(20, 3), [fails(Code::NotFound), stream()]);
    let (_, status) = export(&lab).await;
    assert_eq!((status.unwrap().code(), lab.peer.count()), (Code::NotFound, 1));
}

/// Nothing is under way any more that could take its place, and its breaker hears of it.
#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_the_callers_and_the_breakers() {
    let breaks = Reply::headers().message("1").wait(millis(50)).reset(Reason::REFUSED_STREAM);
    let lab = Lab::new(hedging(20, 2).breaker(opens_after(5)), [Reply::hang(), breaks]);
    let (messages, status) = export(&lab).await;
    assert_eq!((messages.len(), status.unwrap().code()), (1, Code::Unavailable));
    assert_eq!(lab.peer.count(), 2);
    assert_eq!(lab.service.circuit_breaker_states()["lab"][EXPORT].failures, 1);
}

/// The attempt that lost gives its trial back at the headers, and not at the end of the stream.
#[tokio::test(start_paused = true)]
async fn from_the_headers_on_only_the_stream_is_under_way() {
    let breaker = opens_after(2).with_max_trials(2).unwrap();
    let slow = Reply::headers().wait(millis(500)).message("1").end(Status::ok(""));
    let lab = Lab::new(hedging(20, 2).breaker(breaker), [busy(), busy(), Reply::hang(), slow]);
    assert!(lab.client(EXPORT).server_streaming("all").await.is_err());
    pass(10_000).await;
    let response = lab.client(EXPORT).server_streaming("all").await.unwrap();
    let trials = || lab.service.circuit_breaker_states()["lab"][EXPORT].trials;
    assert_eq!((lab.peer.count(), trials()), (4, 1));
    drop(response);
    assert_eq!(trials(), 0);
}
