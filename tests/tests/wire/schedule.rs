//! When attempts start and how much time each is told it has: R19 to R27 and R36.

use evenkeel_tests::Reply;
use evenkeel_tonic::core::{Code, StopReason};
use evenkeel_tonic::{Stopped, cause};

use crate::lab::{ECHO, Lab, busy, code, timed, within};
use crate::policies::{also, client, exact, millis, retries};

#[tokio::test(start_paused = true)]
async fn r19_every_attempt_is_given_what_is_left_of_the_call() {
    let constant = exact(50).with_multiplier(1_000).unwrap();
    let policy = retries(3, 50).with_backoff(constant);
    let builder = client().timeout(millis(5_000)).unwrap().retry(policy);
    let lab = Lab::new(builder, [busy().after(millis(50))]);
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!(lab.slices(), [(0, 5_000), (100, 4_900), (200, 4_800)]);
}

#[tokio::test(start_paused = true)]
async fn r23_after_the_calls_own_deadline_nothing_is_tried() {
    let policy = retries(4, 100).with_codes(also(&[Code::DeadlineExceeded]));
    let builder = client().timeout(millis(400)).unwrap().retry(policy);
    let lab = Lab::new(builder, [Reply::hang()]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    assert_eq!((code(&failed), took), (tonic::Code::DeadlineExceeded, 400));
    assert_eq!(lab.peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn r24_without_a_deadline_attempts_carry_none() {
    let lab = Lab::new(client().retry(retries(3, 100)), [busy().after(millis(10))]);
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!(lab.starts(), [0, 110, 320]);
    assert!(lab.peer.requests().iter().all(|seen| !seen.headers.contains_key("grpc-timeout")));
}

#[tokio::test(start_paused = true)]
async fn r25_three_attempts_share_two_seconds() {
    let builder = client().timeout(millis(2_000)).unwrap().retry(retries(3, 300));
    let lab = Lab::new(builder, [busy()]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    assert_eq!((code(&failed), took), (tonic::Code::Unavailable, 900));
    assert_eq!(lab.slices(), [(0, 2_000), (300, 1_700), (900, 1_100)]);
}

#[tokio::test(start_paused = true)]
async fn r26_five_attempts_share_ten_seconds() {
    let builder = client().timeout(millis(10_000)).unwrap().retry(retries(5, 100));
    let lab = Lab::new(builder, [busy().after(millis(50))]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    assert_eq!((code(&failed), took), (tonic::Code::Unavailable, 1_750));
    let expected = [(0, 10_000), (150, 9_850), (400, 9_600), (850, 9_150), (1_700, 8_300)];
    assert_eq!(lab.slices(), expected);
}

#[tokio::test(start_paused = true)]
async fn r27_the_callers_nearer_deadline_ends_the_retries_early() {
    let builder = client().timeout(millis(10_000)).unwrap().retry(retries(5, 100));
    let lab = Lab::new(builder, [busy()]);
    let (failed, took) = timed(lab.request(ECHO, within(150))).await;
    let failed = failed.unwrap_err();
    assert_eq!((failed.code(), took), (tonic::Code::Unavailable, 100));
    assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::DeadlineWouldPass);
    assert_eq!(lab.slices(), [(0, 150), (100, 50)]);
}

#[tokio::test(start_paused = true)]
async fn r36_a_wait_longer_than_the_call_is_not_begun() {
    let builder = client().timeout(millis(250)).unwrap().retry(retries(3, 300));
    let lab = Lab::new(builder, [busy()]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    assert_eq!((code(&failed), took, lab.peer.count()), (tonic::Code::Unavailable, 0, 1));
}

/// gRPC's grammar: at most eight digits, the finest unit from microseconds up, never zero.
#[tokio::test(start_paused = true)]
async fn g63_the_wire_says_what_is_left_in_eight_digits() {
    let day = 24 * 3_600_000;
    for (timeout, said) in [
        (1, "1000u"),
        (100, "100000u"),
        (99_999, "99999000u"),
        (100_000, "100000m"),
        (3_600_000, "3600000m"),
        (2 * day, "172800S"),
    ] {
        let lab = Lab::new(client().timeout(millis(timeout)).unwrap(), [crate::lab::ok()]);
        lab.unary(ECHO).await.unwrap();
        assert_eq!(lab.peer.requests()[0].header("grpc-timeout"), Some(said));
    }
}

/// A limit for each attempt ends the attempt, not the call.
#[tokio::test(start_paused = true)]
async fn an_attempts_own_timeout_may_be_retried() {
    let policy = retries(3, 100).with_codes(also(&[Code::DeadlineExceeded]));
    let builder = client().timeout(millis(10_000)).unwrap().retry(policy);
    let builder = builder.attempt_timeout(millis(400)).unwrap();
    let lab = Lab::new(builder, [Reply::hang(), crate::lab::ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    assert_eq!(lab.slices(), [(0, 400), (500, 400)]);
    assert!(lab.peer.requests()[0].reset.is_some(), "the first was given up on the wire too");
}
