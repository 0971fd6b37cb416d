//! Deadlines, as the other server is told of them and as they end.

use core::time::Duration;
use std::sync::Arc;

use evenkeel_tests::drain;
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::core::BudgetPolicy;
use evenkeel_tonic::{BudgetExhausted, Resilient, cause};
use serde_json::json;
use tonic::{Code, Request};

use crate::lab::{LONG, asks, calls, eventually, lab, outcome, retried, timed};
use crate::python::Server;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What is left by the server's clock when the request comes, which is never more than was given.
async fn left(server: &Server, key: &str) -> Vec<f64> {
    let left = server.seen(key).await.into_iter().map(|seen| seen["left"].as_f64());
    left.map(|left| left.expect("a deadline")).collect()
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g52_the_server_is_told_the_shorter_deadline() {
    let server = Server::start();
    let echo = || json!([{}]);
    let mut lab = lab(server.target(), calls().timeout(seconds(500)).unwrap());
    let mut request = Request::new(asks("callers", echo()));
    request.set_timeout(seconds(100));
    lab.echo(request).await.unwrap();
    let mut request = Request::new(asks("ours", echo()));
    request.set_timeout(seconds(5_000));
    lab.echo(request).await.unwrap();
    for (key, given) in [("callers", 100.0), ("ours", 500.0)] {
        let left = left(&server, key).await[0];
        // grpcio adds some milliseconds of its own when it reads the header.
        assert!(left > given - 60.0 && left < given + 1.0, "{key}: {left}");
    }
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g52_without_a_deadline_none_is_sent() {
    let server = Server::start();
    let mut lab = lab(server.target(), Resilient::builder());
    lab.echo(asks("k", json!([{}]))).await.unwrap();
    assert!(server.seen("k").await[0]["left"].is_null());
}

/// Three attempts with a second between them.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn r25_each_attempt_is_given_what_is_left() {
    let server = Server::start();
    let calls = retried(3, Duration::from_millis(1_000)).timeout(seconds(50)).unwrap();
    let mut lab = lab(server.target(), calls);
    let failed = lab.echo(asks("k", json!([{ "code": "UNAVAILABLE" }]))).await;
    assert_eq!(outcome(failed), Err(Code::Unavailable));
    let left = left(&server, "k").await;
    assert_eq!(left.len(), 3);
    // The pauses are a second less a tenth, and the server's clock is read to milliseconds.
    assert!(left[0] - left[1] > 0.85 && left[1] - left[2] > 0.85, "{left:?}");
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_call_ends_at_its_deadline_and_its_handler_learns_of_it() {
    let server = Server::start();
    let mut lab = lab(server.target(), retried(3, Duration::ZERO));
    for reply in [json!({ "hang": true }), json!({ "hang": true, "headers": true })] {
        let key = reply.to_string();
        let mut request = Request::new(asks(&key, json!([reply])));
        request.set_timeout(Duration::from_millis(300));
        let (failed, took) = timed(lab.echo(request)).await;
        let failed = failed.unwrap_err();
        assert_eq!(failed.code(), Code::DeadlineExceeded, "{failed:?}");
        assert!(took >= Duration::from_millis(295) && took < LONG / 2, "{took:?}");
        eventually(async || server.seen(&key).await[0]["gone"] == true).await;
        assert_eq!(server.seen(&key).await.len(), 1, "it is not retried");
    }
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g54_a_stream_ends_at_its_deadline() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    let reply = json!([{ "items": ["1", "2"], "hang": true }]);
    let mut request = Request::new(asks("k", reply));
    request.set_timeout(Duration::from_millis(500));
    let call = async { drain(lab.export(request).await.unwrap().into_inner()).await };
    let ((items, status), took) = timed(call).await;
    let status = status.unwrap();
    assert_eq!((items.len(), status.code()), (2, Code::DeadlineExceeded));
    assert!(took >= Duration::from_millis(495) && took < LONG / 2, "{took:?}");
    eventually(async || server.seen("k").await[0]["gone"] == true).await;
}

/// A caller who goes away is noticed there at once, not at the deadline.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    let call = lab.echo(asks("k", json!([{ "hang": true }])));
    tokio::select! {
        answer = call => panic!("{answer:?}"),
        () = eventually(async || server.seen("k").await.len() == 1) => {}
    }
    eventually(async || server.seen("k").await[0]["gone"] == true).await;
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn l03_and_l05_a_budget_trims_calls_and_refuses_them_when_it_is_spent() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    let budget = Budget::new(seconds(20), BudgetPolicy::DEFAULT).unwrap();
    with_budget(Some(Arc::new(budget)), lab.echo(asks("trimmed", json!([{}])))).await.unwrap();
    assert!(left(&server, "trimmed").await[0] < 21.0);

    let budget = Arc::new(Budget::new(Duration::from_millis(1), BudgetPolicy::DEFAULT).unwrap());
    tokio::time::sleep(Duration::from_millis(2)).await;
    let call = lab.echo(asks("refused", json!([{}])));
    let failed = with_budget(Some(budget), call).await.unwrap_err();
    assert_eq!(failed.code(), Code::DeadlineExceeded);
    assert!(cause::<BudgetExhausted>(&failed).is_some());
    assert!(server.seen("refused").await.is_empty());
}
