//! Every place where a status can stand, through the service: what the caller sees, how often it
//! was tried for a method that may be repeated and for one that may not, and what the breaker
//! made of it.

use crate::{CHARGE, ECHO, EXPORT, circuit, guarded, sent, stopped};
use evenkeel_core::{Sent, StopReason};
use evenkeel_tests::{Network, Peer, RawClient, Reason, Reply, drain};
use tonic::{Code, Status};

/// What becomes of one kind of answer.
struct Row {
    reply: Reply,
    code: Code,
    /// Attempts at a unary method that may be repeated; the others get one.
    attempts: usize,
    counted: bool,
    /// Set where no status came from the server.
    sent: Option<Sent>,
}

fn row(reply: Reply, code: Code) -> Row {
    let counted = !matches!(
        code,
        Code::Cancelled
            | Code::NotFound
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
    );
    let attempts = if code == Code::Unavailable { 3 } else { 1 };
    Row { reply, code, attempts, counted, sent: None }
}

fn lost(reply: Reply, code: Code) -> Row {
    Row { sent: Some(Sent::Maybe), ..row(reply, code) }
}

fn rows() -> Vec<Row> {
    let message = || Reply::headers().message("pong");
    let mut rows = vec![
        // In the headers, in the trailers, after a message.
        row(Reply::status(Status::unavailable("busy")), Code::Unavailable),
        row(Reply::status(Status::not_found("busy")), Code::NotFound),
        row(Reply::status(Status::internal("busy")), Code::Internal),
        row(Reply::headers().end(Status::unavailable("busy")), Code::Unavailable),
        row(message().end(Status::unavailable("busy")), Code::Unavailable),
        row(message().end(Status::permission_denied("busy")), Code::PermissionDenied),
        // Nowhere.
        row(Reply::headers().end_without_status(), Code::Unknown),
        row(message().end_without_status(), Code::Unknown),
        row(message().reset(Reason::NO_ERROR), Code::Unknown),
        // Instead of one.
        lost(message().reset(Reason::CANCEL), Code::Cancelled),
        lost(message().reset(Reason::REFUSED_STREAM), Code::Unavailable),
        lost(message().reset(Reason::INTERNAL_ERROR), Code::Internal),
        lost(message().close(), Code::Unavailable),
        lost(message().abort(), Code::Unavailable),
        lost(Reply::headers().close(), Code::Unavailable),
    ];
    for (http, code) in [
        (400, Code::Internal),
        (401, Code::Unauthenticated),
        (403, Code::PermissionDenied),
        (404, Code::Unimplemented),
        (429, Code::Unavailable),
        (500, Code::Unknown),
        (502, Code::Unavailable),
        (503, Code::Unavailable),
        (504, Code::Unavailable),
        (200, Code::Unknown),
        (302, Code::Unknown),
    ] {
        rows.push(row(Reply::http(http), code));
    }
    for garbage in ["banana", "99", "-1", "014", "", "14 ", "1e1", "99999999999999999999"] {
        let reply = Reply::status(Status::ok("")).trailer("grpc-status", garbage);
        rows.push(row(reply, Code::Unknown));
        let reply = message().end(Status::ok("")).trailer("grpc-status", garbage);
        rows.push(row(reply, Code::Unknown));
    }
    rows
}

#[tokio::test(start_paused = true)]
async fn f58_f59_a_unary_call_reads_the_status_wherever_it_stands() {
    for Row { reply, code, attempts, counted, sent: how_far } in rows() {
        for method in [ECHO, CHARGE] {
            let net = Network::new();
            let peer = Peer::new([reply.clone()]).listen(&net, "a");
            let service = guarded().build(net.channel("a")).unwrap();
            let answer = RawClient::of(method, service.clone()).unary("ping").await;
            let status = answer.expect_err("every row is a failure");
            let name = format!("{method} answered by {reply:?}: {status:?}");
            assert_eq!(status.code(), code, "{name}");
            let attempts = if method == ECHO { attempts } else { 1 };
            assert_eq!(peer.count(), attempts, "{name}");
            let failures = usize::from(circuit(&service, method).failures);
            assert_eq!(failures, if counted { attempts } else { 0 }, "{name}");
            assert_eq!(sent(&status), how_far, "{name}");
            let why = match (code, method) {
                (Code::Unavailable, ECHO) => StopReason::AttemptsUsedUp,
                (Code::Unavailable, _) => StopReason::NotIdempotent,
                _ => StopReason::NotRetryable,
            };
            assert_eq!(stopped(&status), Some(why), "{name}");
        }
    }
}

/// A stream has its verdict at its end, and without the opt-in only one attempt.
#[tokio::test(start_paused = true)]
async fn f52_a_stream_reads_the_status_wherever_it_stands() {
    for Row { reply, code, counted, .. } in rows() {
        let net = Network::new();
        let peer = Peer::new([reply.clone()]).listen(&net, "a");
        let service = guarded().build(net.channel("a")).unwrap();
        let answer = RawClient::of(EXPORT, service.clone()).server_streaming("all").await;
        let (items, status) = match answer {
            Ok(stream) => drain(stream.into_inner()).await,
            Err(status) => (Vec::new(), Some(status)),
        };
        let status = status.expect("every row is a failure");
        assert_eq!(status.code(), code, "{reply:?}: {status:?}");
        assert!(items.len() <= 1, "{reply:?}");
        assert_eq!(peer.count(), 1, "{reply:?}");
        let failures = circuit(&service, EXPORT).failures;
        assert_eq!(failures, u16::from(counted), "{reply:?}: {status:?}");
        assert!(stopped(&status).is_some(), "{reply:?}: {status:?}");
    }
}

/// The same, opted in: what may be retried begins anew, and nothing is lost or torn.
#[tokio::test(start_paused = true)]
async fn f52_with_the_opt_in_it_begins_anew() {
    for Row { reply, code, .. } in rows() {
        let net = Network::new();
        let good = Reply::headers().messages(["1", "2"]).end(Status::ok(""));
        let peer = Peer::new([reply.clone(), good]).listen(&net, "a");
        let service = guarded().retry_streaming().build(net.channel("a")).unwrap();
        let answer = RawClient::of(EXPORT, service.clone()).server_streaming("all").await;
        if code != Code::Unavailable {
            let ended = match answer {
                Ok(stream) => drain(stream.into_inner()).await.1.unwrap(),
                Err(status) => status,
            };
            assert_eq!((ended.code(), peer.count()), (code, 1), "{reply:?}: {ended:?}");
            continue;
        }
        let (items, status) = drain(answer.unwrap().into_inner()).await;
        assert!(status.is_none(), "{reply:?}: {status:?}");
        assert_eq!(items[items.len() - 2..], ["1", "2"], "{reply:?}");
        assert!(items.len() == 2 || items[0] == "pong", "{reply:?}");
        assert_eq!((peer.count(), circuit(&service, EXPORT).failures), (2, 0), "{reply:?}");
    }
}

/// OK in the headers and nothing after them is the end of an empty stream.
#[tokio::test(start_paused = true)]
async fn ok_in_the_headers_ends_a_stream_and_is_no_unary_answer() {
    let net = Network::new();
    let peer = Peer::new([Reply::status(Status::ok(""))]).listen(&net, "a");
    let service = guarded().build(net.channel("a")).unwrap();
    let stream = RawClient::of(EXPORT, service.clone()).server_streaming("all").await.unwrap();
    let (items, status) = drain(stream.into_inner()).await;
    assert!(items.is_empty() && status.is_none());
    let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
    assert_eq!(status.code(), Code::Internal, "there is no message: {status:?}");
    assert_eq!(peer.count(), 2);
    assert_eq!((circuit(&service, EXPORT).failures, circuit(&service, ECHO).failures), (0, 0));
}

/// OK in the headers, but there is more: raw tonic gives it on, and so do we. What comes after
/// the headers knows better how it ended.
#[tokio::test(start_paused = true)]
async fn ok_in_the_headers_does_not_swallow_what_follows() {
    let early = || Reply::headers().header("grpc-status", "0").messages(["1", "2"]);
    for (reply, code) in [
        (early().end(Status::ok("")), None),
        (early().end_without_status(), None),
        (early().end(Status::data_loss("after all")), Some(Code::DataLoss)),
        (early().reset(Reason::INTERNAL_ERROR), Some(Code::Internal)),
    ] {
        for restarts in [false, true] {
            let net = Network::new();
            let peer = Peer::new([reply.clone()]).listen(&net, "a");
            let builder = if restarts { guarded().retry_streaming() } else { guarded() };
            let service = builder.build(net.channel("a")).unwrap();
            let mut client = RawClient::of(EXPORT, service.clone());
            let stream = client.server_streaming("all").await.unwrap().into_inner();
            let (items, status) = drain(stream).await;
            assert_eq!(items, ["1", "2"], "{reply:?}");
            assert_eq!(status.map(|status| status.code()), code, "{reply:?}");
            assert_eq!(peer.count(), 1);
            let failed = u16::from(code.is_some());
            assert_eq!(circuit(&service, EXPORT).failures, failed, "{reply:?}");
        }
    }
    let reply = Reply::headers().header("grpc-status", "0").message("pong");
    for reply in [reply.clone().end(Status::ok("")), reply.end_without_status()] {
        let net = Network::new();
        let _peer = Peer::new([reply.clone()]).listen(&net, "a");
        let service = guarded().build(net.channel("a")).unwrap();
        let answer = RawClient::of(ECHO, service).unary("ping").await;
        assert_eq!(answer.unwrap().into_inner(), "pong", "{reply:?}");
    }
}

/// Metadata before and after the message is the caller's, also of an answer that was held, and of
/// the attempt that counts alone.
#[tokio::test(start_paused = true)]
async fn metadata_of_the_answer() {
    let busy = Reply::headers().header("x-attempt", "1").end(Status::unavailable("busy"));
    let ok = Reply::ok("pong").header("x-attempt", "2").trailer("x-cost", "7");
    for method in [ECHO, EXPORT] {
        let net = Network::new();
        let _peer = Peer::new([busy.clone(), ok.clone()]).listen(&net, "a");
        let service = guarded().build(net.channel("a")).unwrap();
        let mut client = RawClient::of(method, service);
        if method == ECHO {
            let answer = client.unary("ping").await.unwrap();
            assert_eq!(answer.metadata().get("x-attempt").unwrap(), "2");
            assert_eq!(answer.metadata().get("x-cost").unwrap(), "7");
        } else {
            let mut failed = client.server_streaming("all").await.unwrap().into_inner();
            assert_eq!(failed.message().await.unwrap_err().code(), Code::Unavailable);
            let stream = client.server_streaming("all").await.unwrap();
            assert_eq!(stream.metadata().get("x-attempt").unwrap(), "2");
            let mut stream = stream.into_inner();
            assert_eq!(stream.message().await.unwrap().unwrap(), "pong");
            assert_eq!(stream.trailers().await.unwrap().unwrap().get("x-cost").unwrap(), "7");
        }
    }
}
