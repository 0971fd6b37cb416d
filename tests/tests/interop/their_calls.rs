//! grpcio's client against our server layer.

use core::time::Duration;

use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tonic::OpenBudgetLayer;
use evenkeel_tonic::core::BudgetPolicy;
use serde_json::{Value, json};

use crate::lab::{LONG, asks, calls, eventually, kit};
use crate::ours::{Ours, serve};
use crate::python;

/// What the calls of `job` came to.
async fn done(port: u16, job: Value) -> Vec<Value> {
    let line = tokio::task::spawn_blocking(move || {
        let (_running, mut lines) = python::client(port, &job);
        lines.next().expect("a line").expect("a line of text")
    });
    serde_json::from_str(&line.await.unwrap()).unwrap()
}

fn millis_left(result: &Value) -> u64 {
    result["texts"][0].as_str().unwrap().parse().unwrap_or_else(|_| panic!("{result}"))
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g62_a_deadline_arrives_as_a_budget_and_none_as_none() {
    let port = serve(Ours::default(), OpenBudgetLayer::new()).await;
    let echo = "/lab.v1.Lab/Echo";
    let job = json!({ "calls": [
        { "method": echo, "timeout": 100 },
        { "method": echo, "timeout": 5_000 },
        { "method": echo },
    ] });
    let results = done(port, job).await;
    for (result, given) in results.iter().zip([100_000, 5_000_000]) {
        let left = millis_left(result);
        // gRPC's core sends three digits, rounded up.
        assert!(left > given - 60_000 && left <= given + given / 100, "{left} of {given}");
    }
    assert_eq!(results[2]["texts"], json!(["none"]));
}

/// The margin is taken off before anything is called.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_request_that_has_no_time_left_is_refused_in_words() {
    let ours = Ours::default();
    let policy = BudgetPolicy::DEFAULT.with_safety_margin(LONG).unwrap();
    let layer = OpenBudgetLayer::new().with_policy(policy).without("/lab.v1.Lab/Upload");
    let port = serve(ours.clone(), layer).await;
    let job = json!({ "calls": [
        { "method": "/lab.v1.Lab/Echo", "timeout": 30 },
        { "method": "/lab.v1.Lab/Export", "timeout": 30, "stream": true },
        { "method": "/lab.v1.Lab/Upload", "timeout": 30, "texts": ["a", "b"] },
    ] });
    let results = done(port, job).await;
    for (result, method) in results.iter().zip(["Echo", "Export"]) {
        assert_eq!(result["code"], "DEADLINE_EXCEEDED", "{result}");
        let message = result["message"].as_str().unwrap();
        let expected = format!("no time for /lab.v1.Lab/{method}: ");
        assert!(message.starts_with(&expected), "{message}");
        assert!(
            message.ends_with("left of the caller's deadline, safety margin 60.00s"),
            "{message}"
        );
        assert!(result["took"].as_f64().unwrap() < 25.0, "it is the server that said so");
    }
    assert_eq!(results[2]["texts"], json!(["a+b"]));
    assert!(ours.seen().is_empty());
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_handler_is_let_go_at_the_callers_deadline() {
    let ours = Ours::default();
    let port = serve(ours.clone(), OpenBudgetLayer::new()).await;
    let job = json!({ "calls": [
        { "method": "/lab.v1.Lab/Export", "timeout": 0.3, "stream": true },
    ] });
    let result = &done(port, job).await[0];
    // tonic's own timer answers CANCELLED, and whoever is faster has the word.
    let code = result["code"].as_str().unwrap();
    assert!(["DEADLINE_EXCEEDED", "CANCELLED"].contains(&code), "{result}");
    assert!(result["took"].as_f64().unwrap() >= 0.29, "{result}");
    eventually(async || *ours.dropped.lock().unwrap() == 1).await;
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn all_kinds_of_calls_go_through_the_layer() {
    let port = serve(Ours::default(), OpenBudgetLayer::new()).await;
    let job = json!({ "calls": [
        { "method": "/lab.v1.Lab/Upload", "texts": ["a", "b"], "timeout": 60 },
        { "method": "/lab.v1.Lab/Chat", "texts": ["x", "y"], "stream": true, "timeout": 60 },
        { "method": "/lab.v1.Lab/Missing", "timeout": 60 },
    ] });
    let results = done(port, job).await;
    assert_eq!(results[0]["texts"], json!(["a+b"]));
    assert_eq!(results[1]["texts"], json!(["x", "y"]));
    assert_eq!(results[2]["code"], "UNIMPLEMENTED");
}

/// A policy whose own waits are far longer than the test.
fn retrying(initial: &str) -> Value {
    json!({ "methodConfig": [{
        "name": [{ "service": "lab.v1.Lab" }],
        "retryPolicy": {
            "maxAttempts": 4, "initialBackoff": initial, "maxBackoff": "1000s",
            "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"],
        },
    }] })
}

fn charged(text: &str) -> Value {
    json!([{ "method": "/lab.v1.Lab/Charge", "text": text, "timeout": 900, "wait_for_ready": true }])
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn their_retries_see_our_status_and_number_their_attempts() {
    let ours = Ours::default();
    let port = serve(ours.clone(), OpenBudgetLayer::new()).await;
    let job = json!({ "service_config": retrying("0.01s"), "calls": charged("") });
    assert_eq!(done(port, job).await[0]["texts"], json!(["there"]));
    assert_eq!(ours.seen(), [None, Some("1".to_owned()), Some("2".to_owned())]);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn their_retries_obey_our_pushback() {
    let ours = Ours::default();
    let port = serve(ours.clone(), OpenBudgetLayer::new()).await;
    let job = json!({ "service_config": retrying("500s"), "calls": charged("200") });
    let result = &done(port, job).await[0];
    assert_eq!(result["texts"], json!(["there"]), "{result}");
    let took = Duration::from_secs_f64(result["took"].as_f64().unwrap());
    assert!(took >= Duration::from_millis(400) && took < LONG, "{took:?}");

    let ours = Ours::default();
    let port = serve(ours.clone(), OpenBudgetLayer::new()).await;
    let job = json!({ "service_config": retrying("0.01s"), "calls": charged("-1") });
    let result = &done(port, job).await[0];
    assert_eq!((&result["code"], &result["message"]), (&json!("UNAVAILABLE"), &json!("not yet")));
    assert_eq!(result["trailers"]["grpc-retry-pushback-ms"], "-1");
    assert_eq!(ours.seen(), [None], "it was asked not to try again");
}

/// grpcio, our server, our client, grpcio: one deadline for all of it.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g57_a_deadline_goes_through_our_server_to_theirs() {
    let last = python::Server::start();
    let kit = kit(&[last.target()], calls());
    let ours = Ours { next: Some(LabClient::new(kit.channel())), ..Ours::default() };
    let port = serve(ours, OpenBudgetLayer::new()).await;
    let request = asks("k", json!([{ "text": "from afar" }])).text;
    let job = json!({ "calls": [
        { "method": "/lab.v1.Lab/Put", "text": request, "timeout": 20 },
    ] });
    let result = &done(port, job).await[0];
    assert_eq!(result["texts"], json!(["from afar"]), "{result}");
    // Our client's own timeout is a minute.
    let left = last.seen("k").await[0]["left"].as_f64().unwrap();
    assert!(left > 0.0 && left < 21.0, "{left}");
}
