//! Where a status can stand, and what a client says when there is none.

use crate::{client_of, code_of, status_of};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use evenkeel_tests::{Reason, Reply};
use std::sync::Arc;
use tonic::{Code, Request, Status};

#[tokio::test(start_paused = true)]
async fn a_message_and_ok() {
    let (mut client, peer) = client_of([Reply::ok("pong").header("x-who", "me")]);
    let mut request = Request::new("ping");
    request.set_timeout(Duration::from_secs(5));
    request.metadata_mut().insert("grpc-previous-rpc-attempts", "1".parse().unwrap());
    let answer = client.unary(request).await.unwrap();
    assert_eq!(answer.metadata().get("x-who").unwrap(), "me");
    assert_eq!(answer.into_inner(), "pong");

    let [seen] = &peer.requests()[..] else { panic!("one request") };
    assert_eq!(seen.path, "/raw.Raw/Call");
    assert_eq!(seen.timeout(), Some(Duration::from_secs(5)));
    assert_eq!(seen.header("grpc-previous-rpc-attempts"), Some("1"));
    assert_eq!(seen.messages(), [b"ping"]);
    assert!(seen.ended);
    assert_eq!(seen.reset, None);
}

#[tokio::test(start_paused = true)]
async fn a_status_alone_with_all_that_hangs_on_it() {
    let mut busy = Status::with_details(Code::ResourceExhausted, "busy: 100 %", "why".into());
    busy.metadata_mut().insert("x-shard", "7".parse().unwrap());
    let reply = Reply::status(busy).trailer("grpc-retry-pushback-ms", "120");
    let status = status_of(reply).await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.message(), "busy: 100 %");
    assert_eq!(status.details(), b"why");
    assert_eq!(status.metadata().get("x-shard").unwrap(), "7");
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "120");
}

#[tokio::test(start_paused = true)]
async fn a_status_after_headers_or_after_the_message() {
    let late = || Status::unavailable("late");
    assert_eq!(code_of(Reply::headers().end(late())).await, Code::Unavailable);
    assert_eq!(code_of(Reply::headers().message("pong").end(late())).await, Code::Unavailable);
    // OK, but nothing to return.
    assert_eq!(code_of(Reply::headers().end(Status::ok(""))).await, Code::Internal);
}

#[tokio::test(start_paused = true)]
async fn http_statuses_without_a_grpc_status() {
    for (http, code) in [
        (400, Code::Internal),
        (401, Code::Unauthenticated),
        (403, Code::PermissionDenied),
        (404, Code::Unimplemented),
        (429, Code::Unavailable),
        (502, Code::Unavailable),
        (503, Code::Unavailable),
        (504, Code::Unavailable),
        (500, Code::Unknown),
        // The right HTTP status does not help.
        (200, Code::Unknown),
    ] {
        assert_eq!(code_of(Reply::http(http)).await, code, "HTTP {http}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_status_at_all_is_unknown() {
    assert_eq!(code_of(Reply::headers().end_without_status()).await, Code::Unknown);
    let reply = Reply::headers().message("pong").end_without_status();
    assert_eq!(code_of(reply).await, Code::Unknown);
}

#[tokio::test(start_paused = true)]
async fn grpc_statuses_that_are_none() {
    for garbage in ["banana", "99", "-1", "014", ""] {
        let reply = Reply::status(Status::ok("")).trailer("grpc-status", garbage);
        assert_eq!(code_of(reply).await, Code::Unknown, "{garbage:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn details_that_are_not_base64_panic_the_client() {
    let reply = Reply::status(Status::internal("")).trailer("grpc-status-details-bin", "%%%");
    let (mut client, _peer) = client_of([reply]);
    let call = tokio::spawn(async move { client.unary("ping").await });
    assert!(call.await.unwrap_err().is_panic());
}

#[tokio::test(start_paused = true)]
async fn metadata_above_16_kib_is_refused() {
    let pad = |length| Reply::status(Status::unavailable("")).trailer("x-pad", "y".repeat(length));
    assert_eq!(code_of(pad(15_000)).await, Code::Unavailable);
    assert_eq!(code_of(pad(17_000)).await, Code::Internal);
}

#[tokio::test(start_paused = true)]
async fn a_header_block_without_end_is_refused() {
    let flooded = status_of(Reply::hang().flood(64)).await;
    assert_eq!(flooded.code(), Code::ResourceExhausted);
    let cause = crate::cause::<h2::Error>(&flooded).unwrap();
    assert_eq!(cause.reason(), Some(Reason::ENHANCE_YOUR_CALM));
    assert!(!cause.is_remote());
}

#[tokio::test(start_paused = true)]
async fn replies_come_in_order_and_the_last_repeats() {
    let (mut client, peer) = client_of([
        Reply::status(Status::not_found("")).after(Duration::from_millis(250)),
        Reply::ok("pong"),
    ]);
    assert_eq!(client.unary("1").await.unwrap_err().code(), Code::NotFound);
    for _ in 0..2 {
        assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
    }
    peer.replace([Reply::ok("new")]);
    assert_eq!(client.unary("ping").await.unwrap().into_inner(), "new");
    let times: Vec<_> = peer.requests().iter().map(|seen| seen.at.as_millis()).collect();
    assert_eq!(times, [0, 250, 250, 250]);
}

#[tokio::test(start_paused = true)]
async fn a_request_can_take_effect_and_its_answer_be_lost() {
    let charged = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&charged);
    let reply = Reply::hang().reset(Reason::INTERNAL_ERROR).executing(move |seen| {
        assert_eq!(seen.messages(), [b"ping"]);
        counter.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(code_of(reply).await, Code::Internal);
    assert_eq!(charged.load(Ordering::Relaxed), 1);
}
