//! Which requests can be sent twice at once.

use bytes::Bytes;
use evenkeel_tests::{RawClient, Reply};
use evenkeel_tonic::core::RetryPolicy;
use evenkeel_tonic::{AllowList, Commit, Resilient};
use tonic::Code;

use crate::lab::{ECHO, Lab, UPLOAD, after, client, fails, hedging, is_hedge, millis, ok};

#[tokio::test(start_paused = true)]
async fn a_message_beyond_the_replay_limit_is_sent_once() {
    for (limit, count) in [(4, 2), (3, 1)] {
        let lab = Lab::new(hedging(20, 2).replay_limit(limit), [ok().after(millis(50))]);
        assert_eq!((lab.unary(ECHO).await.1, lab.peer.count()), (50, count));
        assert!(lab.peer.requests().iter().all(|seen| seen.messages() == [b"ping"]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_stream_is_sent_once() {
    let all = AllowList::new(["/lab.v1.Lab/*"]).unwrap();
    let lab = Lab::new(hedging(20, 3).idempotent(all), [ok().early().after(millis(50))]);
    let messages = tokio_stream::iter([Bytes::from("1"), Bytes::from("2")]);
    lab.client(UPLOAD).client_streaming(messages).await.unwrap();
    assert_eq!(lab.peer.count(), 1);
}

/// Nobody says that the method is unary: what is one message is sent twice all the same, and the
/// first headers win.
#[tokio::test(start_paused = true)]
async fn without_a_method_table_a_list_is_enough() {
    let list = AllowList::new([ECHO]).unwrap();
    let builder = Resilient::builder().target("lab").idempotent(list).hedge(after(20, 2));
    let lab = Lab::new(builder, [Reply::hang(), ok().after(millis(5))]);
    assert_eq!((lab.unary(ECHO).await.1, lab.starts()), (25, vec![0, 20]));
}

/// A failure behind the headers is one attempt's, because the caller has seen nothing of it.
#[tokio::test(start_paused = true)]
async fn a_unary_response_is_held_until_its_status_is_known() {
    let late = || Reply::headers().message("no").end(tonic::Status::unavailable("late"));
    let lab = Lab::new(hedging(20, 2), [late(), ok()]);
    assert_eq!(&*lab.unary(ECHO).await.0.unwrap(), b"pong");
    // Committed at the headers, as A6 says, it is the call's.
    let lab = Lab::new(hedging(20, 2).commit(Commit::OnHeaders), [late(), ok()]);
    assert_eq!(lab.unary(ECHO).await.0.unwrap_err().message(), "late");
}

/// Both attempts on a connection are lost with it, and one more is sent, on another.
#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_takes_its_attempts_and_not_the_call() {
    let lab = Lab::new(hedging(20, 5), [Reply::hang(), Reply::hang(), ok()]);
    lab.net.after(millis(25), |net| net.cut("a"));
    assert_eq!((lab.unary(ECHO).await.1, lab.starts()), (25, vec![0, 20, 25]));
    assert_eq!(lab.peer.connections(), 2);
}

/// One service of ours below another lets the outer one decide.
#[tokio::test(start_paused = true)]
async fn stacked_on_another_only_the_outer_one_hedges() {
    let lab = Lab::new(hedging(20, 2), [ok().after(millis(50))]);
    let outer = hedging(30, 2).build(lab.service.clone()).unwrap();
    RawClient::of(ECHO, outer).unary("ping").await.unwrap();
    assert_eq!(lab.starts(), [0, 30]);
}

/// With both blocks a method has the one or the other.
#[tokio::test(start_paused = true)]
async fn a_hedged_method_is_not_retried_and_a_retried_one_not_hedged() {
    let both = || client().retry(RetryPolicy::DEFAULT).hedge(after(20, 2));
    let lab = Lab::new(both(), [fails(Code::Unavailable)]);
    // Two attempts at once, and not three with waits between them.
    assert_eq!((lab.unary(ECHO).await.1, lab.peer.count()), (0, 2));

    let exempt = both().method_hedge(ECHO, None).unwrap();
    let lab = Lab::new(exempt, [ok().after(millis(50))]);
    assert_eq!((lab.unary(ECHO).await.1, lab.peer.count()), (50, 1));
    assert!(!is_hedge(&lab.peer.requests()[0]));
}
