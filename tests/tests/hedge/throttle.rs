//! How hedges are bounded over all calls of a client.

use evenkeel_tests::Reply;
use evenkeel_tonic::core::ThrottlePolicy;

use crate::lab::{ECHO, Lab, busy, hedging, millis, ok, opens_after, pass};

/// F68: what is under way goes on, and only the hedge is not sent.
#[tokio::test(start_paused = true)]
async fn f68_an_empty_throttle_suppresses_the_hedge_and_not_the_call() {
    let throttled = hedging(20, 2).throttle(ThrottlePolicy::grpc(4, 100).unwrap());
    let lab = Lab::new(throttled, [busy(), busy(), ok().after(millis(50))]);
    // Two failures are two tokens of four, and at half nothing more is sent.
    assert!(lab.unary(ECHO).await.0.is_err());
    assert_eq!(lab.service.throttle_millitokens(), Some(2_000));
    let (answer, took) = lab.unary(ECHO).await;
    assert!(answer.is_ok() && took == 50, "{took}");
    assert_eq!(lab.peer.count(), 3);
    assert_eq!(lab.service.throttle_millitokens(), Some(2_100));
}

/// F29: with nothing under way the caller is told at once, and not at its deadline.
#[tokio::test(start_paused = true)]
async fn f29_a_failure_without_tokens_is_told_at_once() {
    let throttled = hedging(20, 3).throttle(ThrottlePolicy::grpc(2, 100).unwrap());
    let lab = Lab::new(throttled, [busy().after(millis(4))]);
    let (answer, took) = lab.unary(ECHO).await;
    assert_eq!((answer.unwrap_err().message(), took), ("the peer says so", 4));
    assert_eq!(lab.peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hedge_costs_what_a_retry_costs_and_a_loser_nothing() {
    let tokens = ThrottlePolicy::success_refilled(10, 100).unwrap();
    let lab = Lab::new(hedging(20, 2).throttle(tokens), [Reply::hang(), ok().after(millis(5))]);
    assert_eq!(lab.unary(ECHO).await.1, 25);
    // One for the hedge, a tenth back for the success.
    assert_eq!(lab.service.throttle_millitokens(), Some(9_100));
}

/// A breaker on trial lets one attempt through: the hedge is dropped, and the trial decides.
#[tokio::test(start_paused = true)]
async fn a_breaker_that_refuses_the_hedge_leaves_the_trial_alone() {
    let guarded = hedging(20, 2).breaker(opens_after(2));
    let lab = Lab::new(guarded, [busy(), busy(), ok().after(millis(50))]);
    assert!(lab.unary(ECHO).await.0.is_err());
    pass(10_000).await;
    let (answer, took) = lab.unary(ECHO).await;
    assert!(answer.is_ok() && took == 50, "{took}");
    assert_eq!((lab.peer.count(), lab.breaker().trials), (3, 0));
}
