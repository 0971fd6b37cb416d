//! How retries are bounded over all calls of a client: G23 to G29.

use evenkeel_tests::{Reason, Reply};
use evenkeel_tonic::core::{RetryPolicy, StopReason, ThrottlePolicy};
use evenkeel_tonic::{Builder, Stopped, cause};
use tonic::Code;

use crate::lab::{CHARGE, ECHO, Lab, PUT, busy, fails, ok};
use crate::policies::{client, retries};

/// gRPC's rule: ten tokens, a tenth back for a success.
fn throttled() -> Builder {
    client().throttle(ThrottlePolicy::grpc(10, 100).unwrap())
}

fn tokens(lab: &Lab) -> u32 {
    lab.service.throttle_millitokens().expect("the client is throttled")
}

#[tokio::test(start_paused = true)]
async fn g23_at_half_the_tokens_nothing_is_retried() {
    let lab = Lab::new(throttled().retry(retries(4, 100)), [busy()]);
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!((lab.peer.count(), tokens(&lab)), (4, 6_000));
    let failed = lab.unary(ECHO).await.unwrap_err();
    assert_eq!((lab.peer.count(), tokens(&lab)), (4 + 1, 5_000));
    assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::Throttled);
    assert_eq!((failed.code(), failed.message()), (Code::Unavailable, "the peer says so"));
}

#[tokio::test(start_paused = true)]
async fn g25_successes_fill_it_no_higher_than_full() {
    let lab = Lab::new(throttled().retry(retries(1, 100)), [busy(), ok()]);
    assert!(lab.unary(ECHO).await.is_err());
    for _ in 0..1_000 {
        lab.unary(ECHO).await.unwrap();
    }
    assert_eq!(tokens(&lab), 10_000);
}

#[tokio::test(start_paused = true)]
async fn g26_other_failures_change_nothing_and_a_success_adds_a_tenth() {
    let replies = [busy(), fails(Code::NotFound), fails(Code::Internal), ok()];
    let lab = Lab::new(throttled().retry(retries(1, 100)), replies);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let _ = lab.unary(ECHO).await;
        seen.push(tokens(&lab));
    }
    assert_eq!(seen, [9_000, 9_000, 9_000, 9_100]);
}

/// A "do not retry" is charged whatever its code.
#[tokio::test(start_paused = true)]
async fn a_server_that_pushes_back_is_charged() {
    let pushed = fails(Code::NotFound).trailer("grpc-retry-pushback-ms", "-1");
    let lab = Lab::new(throttled().retry(retries(3, 100)), [pushed]);
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!(tokens(&lab), 9_000);
}

#[tokio::test(start_paused = true)]
async fn g27_the_methods_of_one_client_share_it_and_clients_do_not() {
    let lab = Lab::new(throttled().retry(retries(3, 100)), [busy()]);
    let other = Lab::new(throttled().retry(retries(3, 100)), [busy()]);
    for method in [ECHO, PUT, CHARGE] {
        assert!(lab.client(method).unary("ping").await.is_err());
    }
    // Three, then the two that were left, and one of a method that is never repeated.
    assert_eq!((lab.peer.count(), tokens(&lab)), (3 + 2 + 1, 4_000));
    assert_eq!(tokens(&other), 10_000);
}

#[tokio::test(start_paused = true)]
async fn g29_what_is_repeated_transparently_costs_nothing() {
    let refused = Reply::hang().reset(Reason::REFUSED_STREAM);
    let lab = Lab::new(
        throttled().retry(RetryPolicy::DEFAULT),
        [busy().trailer("grpc-retry-pushback-ms", "-1"), refused, ok()],
    );
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!(tokens(&lab), 9_000);
    lab.unary(ECHO).await.unwrap();
    assert_eq!((lab.peer.count(), tokens(&lab)), (3, 9_100));
}

/// A retry is granted when the attempt fails, so that those who wait for theirs already count.
#[tokio::test(start_paused = true)]
async fn retries_that_wait_have_been_paid_for() {
    let policy = ThrottlePolicy::success_refilled(2, 100).unwrap();
    let lab = Lab::new(client().throttle(policy).retry(retries(2, 1_000)), [busy()]);
    let calls = (0..5).map(|_| lab.unary(ECHO));
    futures_util::future::join_all(calls).await;
    assert_eq!(lab.starts(), [0, 0, 0, 0, 0, 1_000, 1_000]);
    assert_eq!(tokens(&lab), 0);
}
