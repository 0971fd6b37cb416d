//! What gRPC A6 says of hedging, one rule a test.

use evenkeel_tests::{RawClient, Reply, Seen, Stub};
use evenkeel_tonic::core::{Code as CoreCode, CodeSet, StopReason};
use evenkeel_tonic::{CallOptions, DeadlinePassed, Stopped, cause};
use tonic::{Code, Request};

use crate::lab::{
    CHARGE, ECHO, Lab, after, busy, client, fails, hedging, in_millis, is_hedge, millis, ok,
    opens_after,
};

#[tokio::test(start_paused = true)]
async fn the_first_answer_wins_and_the_other_attempt_is_cancelled() {
    let guarded = || hedging(20, 2).breaker(opens_after(1));
    let lab = Lab::new(guarded(), [Reply::hang(), ok().after(millis(5))]);
    let (answer, took) = lab.unary(ECHO).await;
    assert_eq!((&*answer.unwrap(), took), (&b"pong"[..], 25));
    assert_eq!((lab.starts(), lab.cancelled()), (vec![0, 20], vec![Some(25), None]));
    let previous =
        |at: usize| lab.peer.requests()[at].header("grpc-previous-rpc-attempts") == Some("1");
    assert_eq!((is_hedge(&lab.peer.requests()[0]), previous(1)), (false, true));
    assert_eq!(lab.breaker().failures, 0, "an attempt that lost is no verdict");

    // The older one may be faster all the same.
    let lab = Lab::new(guarded(), [ok().after(millis(30)), Reply::hang()]);
    assert_eq!(lab.unary(ECHO).await.1, 30);
    assert_eq!((lab.starts(), lab.cancelled()), (vec![0, 20], vec![None, Some(30)]));
    assert_eq!(lab.breaker().failures, 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_not_hedged() {
    let lab = Lab::new(hedging(20, 5), [ok().after(millis(19))]);
    for _ in 0..3 {
        assert_eq!(lab.unary(ECHO).await.1, 19);
    }
    assert_eq!(lab.peer.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn hedges_follow_each_other_until_all_are_sent() {
    let lab = Lab::new(hedging(20, 4), [Reply::hang()]);
    assert_eq!(lab.unary(ECHO).await.1, 10_000);
    assert_eq!(lab.starts(), [0, 20, 40, 60]);
    assert_eq!(lab.cancelled(), [Some(10_000); 4]);
}

#[tokio::test(start_paused = true)]
async fn without_a_delay_all_are_sent_at_once() {
    let lab = Lab::new(hedging(0, 3), [ok().after(millis(9))]);
    assert_eq!(lab.unary(ECHO).await.1, 9);
    assert_eq!(lab.starts(), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_fatal_code_ends_the_call_and_cancels_what_is_under_way() {
    let lab = Lab::new(hedging(20, 3), [Reply::hang(), fails(Code::NotFound).after(millis(5))]);
    let (answer, took) = lab.unary(ECHO).await;
    let status = answer.unwrap_err();
    assert_eq!((status.code(), status.message(), took), (Code::NotFound, "the peer says so", 25));
    let stopped = cause::<Stopped>(&status).unwrap();
    assert_eq!((stopped.reason, stopped.attempts), (StopReason::NotRetryable, 2));
    assert_eq!((lab.starts(), lab.cancelled()), (vec![0, 20], vec![Some(25), None]));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_not_fatal_brings_the_next_attempt_forward() {
    let replies = [Reply::hang(), busy().after(millis(5)), ok().after(millis(5))];
    let lab = Lab::new(hedging(20, 3), replies);
    assert_eq!(lab.unary(ECHO).await.1, 30);
    assert_eq!(lab.starts(), [0, 20, 25]);

    // With nothing under way it follows at once as well.
    let lab = Lab::new(hedging(20, 3), [busy(), busy(), ok()]);
    assert_eq!((lab.unary(ECHO).await.1, lab.starts()), (0, vec![0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn the_call_fails_when_the_last_attempt_has_failed_and_not_before() {
    let replies = [busy().after(millis(100)), busy().after(millis(5))];
    let lab = Lab::new(hedging(20, 2), replies);
    let (answer, took) = lab.unary(ECHO).await;
    let status = answer.unwrap_err();
    assert_eq!((status.code(), took), (Code::Unavailable, 100));
    let stopped = cause::<Stopped>(&status).unwrap();
    assert_eq!((stopped.reason, stopped.attempts), (StopReason::AttemptsUsedUp, 2));
}

#[tokio::test(start_paused = true)]
async fn a_pushback_puts_the_next_attempt_off_or_ends_hedging() {
    let pushed = |by: &str| busy().trailer("grpc-retry-pushback-ms", by).after(millis(5));
    let lab = Lab::new(hedging(20, 3), [Reply::hang(), pushed("70"), ok().after(millis(5))]);
    assert_eq!((lab.unary(ECHO).await.1, lab.starts()), (100, vec![0, 20, 95]));

    for no_more in ["-1", "soon"] {
        let lab = Lab::new(hedging(20, 3), [ok().after(millis(50)), pushed(no_more), ok()]);
        let (answer, took) = lab.unary(ECHO).await;
        assert!(answer.is_ok() && took == 50, "what is under way goes on");
        assert_eq!(lab.starts(), [0, 20]);
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_what_is_left_and_all_end_at_the_deadline() {
    let lab = Lab::new(hedging(30, 5), [Reply::hang()]);
    let mut request = Request::new("ping");
    request.set_timeout(millis(100));
    let (answer, took) = lab.request(ECHO, request).await;
    let status = answer.unwrap_err();
    assert_eq!((status.code(), took), (Code::DeadlineExceeded, 100));
    assert_eq!(cause::<DeadlinePassed>(&status).unwrap().attempts, 4);
    let left = |seen: &Seen| in_millis(seen.timeout().unwrap());
    assert_eq!(lab.peer.requests().iter().map(left).collect::<Vec<_>>(), [100, 70, 40, 10]);
    assert_eq!(lab.cancelled(), [Some(100); 4]);
}

/// An attempt's own limit is a failure of it alone, fatal or not as its code says.
#[tokio::test(start_paused = true)]
async fn a_limit_for_each_attempt_ends_one_and_not_the_others() {
    let late = CodeSet::RETRYABLE.with(CoreCode::DeadlineExceeded);
    let policy = after(20, 3).with_non_fatal_codes(late);
    let builder = client().hedge(policy).attempt_timeout(millis(50)).unwrap();
    let lab = Lab::new(builder, [Reply::hang(), ok().after(millis(45)), Reply::hang()]);
    assert_eq!(lab.unary(ECHO).await.1, 65);
    assert_eq!(lab.starts(), [0, 20, 40]);
    assert_eq!(lab.cancelled(), [Some(50), None, Some(65)]);
}

#[tokio::test(start_paused = true)]
async fn what_must_not_be_executed_twice_is_never_hedged() {
    let lab = Lab::new(hedging(20, 5), [ok().after(millis(500))]);
    assert_eq!((lab.unary(CHARGE).await.1, lab.peer.count()), (500, 1));

    let mut request = Request::new("ping");
    request.extensions_mut().insert(CallOptions::new().without_retry());
    assert_eq!((lab.request(ECHO, request).await.1, lab.peer.count()), (500, 2));
}

/// Two that end in the same moment: the answer counts, whichever was sent first.
#[tokio::test(start_paused = true)]
async fn an_answer_beats_a_failure_of_the_same_moment() {
    let replies = [fails(Code::Internal).after(millis(30)), ok().after(millis(10))];
    let stub = Stub::new(replies);
    let service = hedging(20, 2).build(stub.clone()).unwrap();
    let answer = RawClient::of(ECHO, service).unary("ping").await;
    assert_eq!((answer.unwrap().into_inner(), stub.count()), ("pong".into(), 2));
}
