//! Waiting for a server that comes late.

use core::time::Duration;

use evenkeel_tests::Listening;
use evenkeel_tests::pb::METHODS;
use evenkeel_tonic::core::Sent;
use evenkeel_tonic::{CallOptions, DeadlinePassed, Resilient, TransportError, cause};
use serde_json::json;
use tonic::{Code, Request};

use crate::lab::{LONG, asks, calls, lab, outcome, retried, timed};
use crate::python::{Server, reserved, target};

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g65_and_w11_a_call_waits_for_a_server_that_comes_late() {
    let (_place, port) = reserved();
    let mut lab = lab(target(port), calls().wait_for_ready(true));
    let call = tokio::spawn(async move { lab.echo(asks("k", json!([{ "text": "late" }]))).await });
    // Long enough to be dialled in vain, more than once.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!call.is_finished());
    let server = Server::at(port);
    assert_eq!(outcome(call.await.unwrap()), Ok("late".to_owned()));
    assert_eq!(server.previous("k").await, [None], "one request, and the first");
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g36_and_w12_without_waiting_a_call_fails_at_once() {
    let (_place, port) = reserved();
    let mut lab = lab(target(port), retried(3, Duration::from_millis(1)));
    let (failed, took) = timed(lab.echo(asks("k", json!([{}])))).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.code(), Code::Unavailable, "{failed:?}");
    assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::NotConnected);
    assert!(took < LONG / 6, "{took:?}");
    // What failed before does not stand in the way of what comes after.
    let server = Server::at(port);
    let mut request = Request::new(asks("k", json!([{ "text": "there" }])));
    request.extensions_mut().insert(CallOptions::new().wait_for_ready(true));
    assert_eq!(outcome(lab.echo(request).await), Ok("there".to_owned()));
    assert_eq!(server.seen("k").await.len(), 1);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g67_and_w13_what_never_comes_is_waited_for_until_the_deadline() {
    let (_place, port) = reserved();
    let calls = retried(3, Duration::from_millis(1)).wait_for_ready(true);
    let mut lab = lab(target(port), calls.timeout(Duration::from_millis(400)).unwrap());
    let (failed, took) = timed(lab.echo(asks("k", json!([{}])))).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.code(), Code::DeadlineExceeded, "{failed:?}");
    assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().attempts, 1);
    assert!(took >= Duration::from_millis(395) && took < LONG / 2, "{took:?}");
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g66_and_w03_without_a_deadline_nobody_waits() {
    let listening = Listening::begin();
    let (_place, port) = reserved();
    let calls = Resilient::builder().methods(&METHODS).wait_for_ready(true);
    let mut lab = lab(target(port), calls);
    for _ in 0..3 {
        let (failed, took) = timed(lab.echo(asks("k", json!([{}])))).await;
        assert_eq!(outcome(failed), Err(Code::Unavailable));
        assert!(took < LONG / 6, "{took:?}");
    }
    assert_eq!(listening.warnings_about("/lab.v1.Lab/Echo"), 1, "{:?}", listening.warnings());
}
