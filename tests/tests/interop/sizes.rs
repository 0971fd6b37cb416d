//! Messages that are long, too long, or compressed.

use core::time::Duration;

use evenkeel_tests::pb::lab_client::LabClient;
use serde_json::json;
use tonic::Code;

use crate::lab::{Lab, asks, kit, lab, outcome, retried, says};
use crate::python::Server;

const MIB: usize = 1 << 20;

fn calls() -> evenkeel_tonic::Builder {
    retried(3, Duration::from_millis(5))
}

/// Long, and less than anybody refuses; more than is kept for another attempt.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g41_long_messages_arrive_and_are_sent_once() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    let answer = lab.echo(asks("long", json!([{ "text": "x", "times": 4 * MIB - 100 }]))).await;
    assert_eq!(outcome(answer).unwrap().len(), 4 * MIB - 100);

    let padding = " ".repeat(300 << 10);
    let mut request = asks("kept", json!([{ "code": "UNAVAILABLE" }, { "text": "again" }]));
    request.text.push_str(&padding);
    assert_eq!(outcome(lab.echo(request).await), Err(Code::Unavailable));
    assert_eq!(server.seen("kept").await.len(), 1);
}

/// grpcio refuses more than 4 MiB by its own choice, with a code that is retried otherwise.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_request_that_is_too_long_is_refused_once() {
    let server = Server::start();
    let mut lab = lab(server.target(), calls());
    let failed = lab.echo(says(" ".repeat(5 * MIB))).await.unwrap_err();
    assert_eq!(failed.code(), Code::ResourceExhausted, "{failed:?}");
    assert!(failed.message().contains("larger than max"), "{}", failed.message());
    assert_eq!(server.count("/lab.v1.Lab/Echo").await, 1);
    assert_eq!(
        outcome(lab.echo(asks("k", json!([{ "text": "there" }]))).await),
        Ok("there".into())
    );
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn an_answer_is_as_long_as_the_client_allows() {
    let server = Server::start();
    let kit = kit(&[server.target()], calls());
    let request = || asks("k", json!([{ "text": "x", "times": 5 * MIB }]));
    let failed = Lab::new(kit.channel()).echo(request()).await.unwrap_err();
    assert_eq!(failed.code(), Code::OutOfRange, "{failed:?}");
    let mut lab = LabClient::new(kit.channel()).max_decoding_message_size(8 * MIB);
    assert_eq!(outcome(lab.echo(request()).await).unwrap().len(), 5 * MIB);
    assert_eq!(server.seen("k").await.len(), 2, "neither was retried");
}

/// gRPC's core compresses what it is told to, whether or not the client can read it.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_compressed_answer_is_read_by_those_who_can() {
    let server = Server::start();
    let kit = kit(&[server.target()], calls());
    let request = |key| asks(key, json!([{ "text": "x", "times": 10_000, "gzip": true }]));
    let gzip = tonic::codec::CompressionEncoding::Gzip;
    let mut lab = LabClient::new(kit.channel()).accept_compressed(gzip).send_compressed(gzip);
    let answer = lab.echo(request("both")).await.unwrap();
    assert_eq!(answer.metadata().get("grpc-encoding").unwrap(), "gzip");
    assert_eq!(answer.into_inner().text.len(), 10_000);

    let failed = Lab::new(kit.channel()).echo(request("neither")).await.unwrap_err();
    assert_eq!(failed.code(), Code::Unimplemented, "{failed:?}");
    assert_eq!(server.seen("neither").await.len(), 1);
    let plain = asks("plain", json!([{ "text": "x", "times": 10_000 }]));
    assert_eq!(outcome(Lab::new(kit.channel()).echo(plain).await).unwrap().len(), 10_000);
}

/// A compressed answer is held until its status is known, like any other.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_compressed_answer_that_fails_in_the_end_is_retried() {
    let server = Server::start();
    let gzip = tonic::codec::CompressionEncoding::Gzip;
    let kit = kit(&[server.target()], calls());
    let mut lab = LabClient::new(kit.channel()).accept_compressed(gzip);
    let failure = json!({ "code": "UNAVAILABLE", "sent": true, "gzip": true, "text": "no" });
    let answer = lab.echo(asks("k", json!([failure, { "text": "there", "gzip": true }]))).await;
    assert_eq!(outcome(answer), Ok("there".to_owned()));
    assert_eq!(server.seen("k").await.len(), 2);
}
