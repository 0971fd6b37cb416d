//! What is tried again, and what is not, as the other server counts it.

use core::time::Duration;

use evenkeel_tests::{RawClient, drain};
use evenkeel_tonic::core::StopReason;
use evenkeel_tonic::{Stopped, cause};
use serde_json::json;
use tonic::Code;

use crate::lab::{asks, kit, lab, outcome, retried, says};
use crate::python::Server;

const SOON: Duration = Duration::from_millis(5);

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g01_and_g10_attempts_are_numbered_from_the_second_on() {
    let server = Server::start();
    let mut lab = lab(server.target(), retried(4, SOON));
    let failed = lab
        .echo(asks("k", json!([{ "code": "UNAVAILABLE", "message": "closed for today" }])))
        .await;
    let failed = failed.unwrap_err();
    assert_eq!((failed.code(), failed.message()), (Code::Unavailable, "closed for today"));
    let stopped = cause::<Stopped>(&failed).unwrap();
    assert_eq!((stopped.reason, stopped.attempts), (StopReason::AttemptsUsedUp, 4));
    let numbers = [None, Some("1"), Some("2"), Some("3")].map(|it| it.map(str::to_owned));
    assert_eq!(server.previous("k").await, numbers);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g09_a_second_attempt_succeeds() {
    let server = Server::start();
    let mut lab = lab(server.target(), retried(3, SOON));
    for code in ["UNAVAILABLE", "RESOURCE_EXHAUSTED"] {
        let answer = lab.echo(asks(code, json!([{ "code": code }, { "text": "there" }]))).await;
        assert_eq!(outcome(answer), Ok("there".to_owned()));
        assert_eq!(server.previous(code).await, [None, Some("1".to_owned())]);
    }
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g08_and_r04_other_codes_are_not_retried() {
    let server = Server::start();
    let mut lab = lab(server.target(), retried(3, SOON));
    let codes = [
        (Code::Aborted, "ABORTED"),
        (Code::AlreadyExists, "ALREADY_EXISTS"),
        (Code::Cancelled, "CANCELLED"),
        (Code::DataLoss, "DATA_LOSS"),
        (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        (Code::FailedPrecondition, "FAILED_PRECONDITION"),
        (Code::Internal, "INTERNAL"),
        (Code::InvalidArgument, "INVALID_ARGUMENT"),
        (Code::NotFound, "NOT_FOUND"),
        (Code::OutOfRange, "OUT_OF_RANGE"),
        (Code::PermissionDenied, "PERMISSION_DENIED"),
        (Code::Unauthenticated, "UNAUTHENTICATED"),
        (Code::Unimplemented, "UNIMPLEMENTED"),
        (Code::Unknown, "UNKNOWN"),
    ];
    for (code, name) in codes {
        let answer = lab.echo(asks(name, json!([{ "code": name }, { "text": "again" }]))).await;
        assert_eq!((outcome(answer), server.seen(name).await.len()), (Err(code), 1));
    }
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g12_a_method_that_nobody_listed_is_not_retried() {
    let server = Server::start();
    let mut lab = lab(server.target(), retried(3, SOON));
    let fails = |key| asks(key, json!([{ "code": "UNAVAILABLE" }, { "text": "again" }]));
    assert_eq!(outcome(lab.charge(fails("charge")).await), Err(Code::Unavailable));
    assert_eq!(outcome(lab.put(fails("put")).await), Ok("again".to_owned()));
    assert_eq!(server.seen("charge").await.len(), 1);
    assert_eq!(server.seen("put").await.len(), 2);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_method_that_is_not_there_is_unimplemented() {
    let server = Server::start();
    let kit = kit(&[server.target()], retried(3, SOON));
    let mut client = RawClient::of("/lab.v1.Lab/Missing", kit.channel());
    let failed = client.unary("ping").await.unwrap_err();
    assert_eq!((failed.code(), failed.message()), (Code::Unimplemented, "Method not found!"));
    assert_eq!(server.count("/lab.v1.Lab/Missing").await, 1);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn all_kinds_of_calls() {
    let server = Server::start();
    let mut lab = lab(server.target(), retried(3, SOON));
    let answer = lab.echo(asks("echo", json!([{ "text": "Grüße" }]))).await;
    assert_eq!(outcome(answer), Ok("Grüße".to_owned()));
    let answer = lab.upload(tokio_stream::iter(["a", "b", "c"].map(says))).await;
    assert_eq!(outcome(answer), Ok("a+b+c".to_owned()));
    let stream = lab.export(asks("export", json!([{ "items": ["1", "2"] }]))).await;
    let (items, status) = drain(stream.unwrap().into_inner()).await;
    assert_eq!((items, status.map(|it| it.code())), (vec![says("1"), says("2")], None));
    let stream = lab.chat(tokio_stream::iter(["x", "y"].map(says))).await;
    let (items, status) = drain(stream.unwrap().into_inner()).await;
    assert_eq!((items, status.map(|it| it.code())), (vec![says("x"), says("y")], None));
}
