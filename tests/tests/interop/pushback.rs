//! What a server asks of those who would try again: `grpc-retry-pushback-ms`, and `RetryInfo` in the
//! status details.

use core::time::Duration;

use evenkeel_tonic::core::StopReason;
use evenkeel_tonic::{Stopped, cause};
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::lab::{LONG, asks, lab, retried, timed};
use crate::python::Server;

/// A call that fails once like this, with a policy whose pauses are `wait`: what it came to, how
/// many requests it took, and how long.
async fn pushed(server: &Server, wait: Duration, failure: Value) -> (Result<(), Status>, Duration) {
    let mut lab = lab(server.target(), retried(3, wait).timeout(LONG * 10).unwrap());
    let key = format!("{failure} after {wait:?}");
    let request = asks(&key, json!([failure, { "text": "there" }]));
    let (answer, took) = timed(lab.echo(request)).await;
    let requests = server.seen(&key).await.len();
    assert_eq!(requests, if answer.is_ok() { 2 } else { 1 }, "{key}");
    (answer.map(|_| ()), took)
}

fn why(answer: Result<(), Status>) -> StopReason {
    let failed = answer.expect_err("a failure that was not retried");
    assert_eq!(failed.code(), Code::Unavailable);
    cause::<Stopped>(&failed).unwrap().reason
}

fn pushback(values: &[&str]) -> Value {
    let trailers: Vec<_> = values.iter().map(|it| ["grpc-retry-pushback-ms", *it]).collect();
    json!({ "code": "UNAVAILABLE", "trailers": trailers })
}

fn info(seconds: f64) -> Value {
    json!({ "code": "UNAVAILABLE", "retry_info": seconds })
}

/// Two policies that have it wrong, one each way.
const NEVER: Duration = Duration::from_secs(120);
const AT_ONCE: Duration = Duration::ZERO;

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g14_and_g15_a_pushback_takes_the_place_of_the_wait() {
    let server = Server::start();
    let (answer, took) = pushed(&server, NEVER, pushback(&["0"])).await;
    assert!(answer.is_ok() && took < LONG, "{answer:?} {took:?}");
    let (answer, took) = pushed(&server, AT_ONCE, pushback(&["300"])).await;
    assert!(answer.is_ok() && took >= Duration::from_millis(300), "{answer:?} {took:?}");
    let (answer, took) = pushed(&server, NEVER, pushback(&["300"])).await;
    assert!(answer.is_ok() && took >= Duration::from_millis(300), "{answer:?} {took:?}");
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_pushback_that_says_no_is_obeyed_and_so_is_one_that_says_nothing() {
    let server = Server::start();
    let never = [&["-1"][..], &["-2147483648"], &["soon"], &[""], &["1.5"], &["2147483648"]];
    for values in never {
        let (answer, _) = pushed(&server, AT_ONCE, pushback(values)).await;
        assert_eq!(why(answer), StopReason::PushedBack, "{values:?}");
    }
    // Within gRPC's range, and longer than anybody wants to wait.
    let (answer, _) = pushed(&server, AT_ONCE, pushback(&["2147483647"])).await;
    assert!(matches!(why(answer), StopReason::HintTooLong { .. }));
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g18_a_pushback_makes_no_code_retryable() {
    let server = Server::start();
    let mut failure = pushback(&["0"]);
    failure["code"] = "NOT_FOUND".into();
    let failed = pushed(&server, AT_ONCE, failure).await.0.unwrap_err();
    assert_eq!(failed.code(), Code::NotFound);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g21_a_pushback_that_does_not_fit_is_not_begun() {
    let server = Server::start();
    let mut lab = lab(server.target(), retried(3, AT_ONCE));
    let failure = pushback(&["100000"]);
    let request = asks("k", json!([failure, { "text": "there" }]));
    let (answer, took) = timed(lab.echo(request)).await;
    assert_eq!(why(answer.map(|_| ())), StopReason::DeadlineWouldPass);
    assert!(took < LONG / 2, "{took:?}");
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g22_a_pushback_counts_in_whatever_shape_the_failure_comes() {
    let server = Server::start();
    for (shape, value) in [("headers", "300"), ("sent", "300"), ("headers", "-1"), ("sent", "-1")] {
        let mut failure = pushback(&[value]);
        failure[shape] = true.into();
        let (answer, took) = pushed(&server, NEVER, failure).await;
        match value {
            "-1" => assert_eq!(why(answer), StopReason::PushedBack),
            _ => assert!(answer.is_ok() && took < LONG, "{shape}: {answer:?} {took:?}"),
        }
    }
}

/// It is a floor below the wait, and not in its place.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn retry_info_in_the_status_details_is_waited_for() {
    let server = Server::start();
    let (answer, took) = pushed(&server, AT_ONCE, info(0.4)).await;
    assert!(answer.is_ok() && took >= Duration::from_millis(400), "{answer:?} {took:?}");
    let (answer, took) = pushed(&server, Duration::from_millis(300), info(0.001)).await;
    assert!(answer.is_ok() && took >= Duration::from_millis(270), "{answer:?} {took:?}");
    let (answer, _) = pushed(&server, AT_ONCE, info(3_600.0)).await;
    assert!(matches!(why(answer), StopReason::HintTooLong { .. }));
}
