//! Failures in the shapes this server gives them, and streams that break.

use core::time::Duration;

use evenkeel_tests::pb::Msg;
use evenkeel_tests::{Listening, drain};
use evenkeel_tonic::{AllowList, Builder, Commit};
use serde_json::{Value, json};
use tonic::Code;

use crate::lab::{Lab, asks, lab, outcome, retried};
use crate::python::Server;

fn calls() -> Builder {
    retried(3, Duration::from_millis(5))
}

/// An error with the headers alone, one in the trailers after headers, and one after a message: the
/// last two never come from tonic.
fn shapes() -> [(&'static str, Value); 3] {
    [
        ("alone", json!({ "code": "UNAVAILABLE", "message": "no" })),
        ("headers", json!({ "code": "UNAVAILABLE", "message": "no", "headers": true })),
        ("message", json!({ "code": "UNAVAILABLE", "message": "no", "sent": true, "text": "x" })),
    ]
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g38_a_unary_failure_is_retried_in_whatever_shape_it_comes() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    for (shape, failure) in shapes() {
        let answer = lab.echo(asks(shape, json!([failure, { "text": "there" }]))).await;
        assert_eq!(outcome(answer), Ok("there".to_owned()), "{shape}");
        assert_eq!(server.previous(shape).await, [None, Some("1".to_owned())], "{shape}");
    }
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g38_after_headers_it_is_not_in_grpcs_own_mode() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls().commit(Commit::OnHeaders));
    for (shape, failure) in shapes() {
        let answer = lab.echo(asks(shape, json!([failure, { "text": "there" }]))).await;
        let expected =
            if shape == "alone" { Ok("there".to_owned()) } else { Err(Code::Unavailable) };
        assert_eq!(outcome(answer), expected, "{shape}");
    }
    assert_eq!(server.seen("headers").await.len() + server.seen("message").await.len(), 2);
}

/// Whatever the shape, a caller reads the same status.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn the_last_failure_is_handed_on_as_it_came() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    for (shape, mut failure) in shapes() {
        failure["message"] = "nicht möglich: 100 %\n".into();
        failure["trailers"] = json!([["x-tried", "yes"]]);
        let failed = lab.echo(asks(shape, json!([failure]))).await.unwrap_err();
        assert_eq!(failed.code(), Code::Unavailable, "{shape}");
        assert_eq!(failed.message(), "nicht möglich: 100 %\n", "{shape}");
        assert_eq!(failed.metadata().get("x-tried").unwrap(), "yes", "{shape}");
        assert_eq!(server.seen(shape).await.len(), 3);
    }
}

async fn exported(lab: &mut Lab, request: Msg) -> (Vec<String>, Option<Code>) {
    match lab.export(request).await {
        Ok(stream) => {
            let (items, status) = drain(stream.into_inner()).await;
            (items.into_iter().map(|item| item.text).collect(), status.map(|it| it.code()))
        }
        Err(status) => (Vec::new(), Some(status.code())),
    }
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g42_and_r15_a_stream_that_broke_is_not_begun_again() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    let broken = json!([{ "items": ["1", "2"], "code": "UNAVAILABLE" }, { "items": ["1"] }]);
    let seen = exported(&mut lab, asks("broken", broken)).await;
    assert_eq!(seen, (vec!["1".to_owned(), "2".to_owned()], Some(Code::Unavailable)));
    assert_eq!(server.seen("broken").await.len(), 1);
    let refused = json!([{ "code": "UNAVAILABLE" }, { "items": ["1"] }]);
    let seen = exported(&mut lab, asks("refused", refused)).await;
    assert_eq!(seen, (Vec::new(), Some(Code::Unavailable)), "nor one that never began");
    assert_eq!(server.seen("refused").await.len(), 1);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g42_and_r13_and_r17_a_stream_is_begun_again_where_that_was_asked_for() {
    let listening = Listening::begin();
    let server = Server::start();
    let listed = AllowList::new(["/lab.v1.Lab/Export"]).unwrap();
    let mut lab = lab(server.target(), calls().idempotent(listed).retry_streaming());
    let broken =
        json!([{ "items": ["1", "2"], "code": "UNAVAILABLE" }, { "items": ["1", "2", "3"] }]);
    let (items, status) = exported(&mut lab, asks("broken", broken)).await;
    assert_eq!((items.concat(), status), ("12123".to_owned(), None));
    assert_eq!(server.previous("broken").await, [None, Some("1".to_owned())]);
    assert_eq!(listening.warnings_about("started anew"), 1, "{:?}", listening.warnings());
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g47_a_request_stream_is_sent_once() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    let request = asks("k", json!([{ "code": "UNAVAILABLE" }, { "text": "again" }]));
    let answer = lab.upload(tokio_stream::iter([request])).await;
    assert_eq!((outcome(answer), server.seen("k").await.len()), (Err(Code::Unavailable), 1));
}
