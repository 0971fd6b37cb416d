//! How often was it tried, and what for: G87, and the reasons why it was not.

use evenkeel_tests::{RawClient, Reply};
use evenkeel_tonic::CallOptions;
use evenkeel_tonic::core::ThrottlePolicy;
use tonic::{Code, Status};

use crate::figures::Figures;
use crate::lab::{CHARGE, ECHO, Lab, busy, counted, fails, millis, ok, refused, retries};

const DENIED: &str = "resilience.retry.denied";
const RETRIES: &str = "grpc.client.call.retries";
const TRANSPARENT: &str = "grpc.client.call.transparent_retries";

#[tokio::test(start_paused = true)]
async fn g87_two_retries_and_a_transparent_one() {
    let figures = Figures::new();
    let replies = [busy(), refused(), busy(), ok()];
    let lab = Lab::new(counted(&figures).retry(retries(3, 100)), replies);
    lab.unary(ECHO).await.unwrap();
    let read = figures.read();
    assert_eq!(read.of("grpc.client.attempt.started", &[]), 4.0);
    assert_eq!(read.of("grpc.client.call.duration", &[]), 1.0);
    assert_eq!((read.of(RETRIES, &[]), read.sum(RETRIES, &[])), (1.0, 2.0));
    assert_eq!((read.of(TRANSPARENT, &[]), read.sum(TRANSPARENT, &[])), (1.0, 1.0));
    let delay = read.sum("grpc.client.call.retry_delay", &[]);
    assert!((delay - 0.3).abs() < 1e-9, "{delay}");
}

#[tokio::test(start_paused = true)]
async fn g87_zeros_are_not_reported() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).retry(retries(3, 100)), [ok()]);
    lab.unary(ECHO).await.unwrap();
    let read = figures.read();
    for name in [RETRIES, TRANSPARENT, "grpc.client.call.hedges", "grpc.client.call.retry_delay"] {
        assert!(read.series(name).is_empty(), "{name}");
    }
    let kind = [("outcome", "successful_without_retry")];
    assert_eq!(read.of("resilience.retry.calls", &kind), 1.0);
}

/// The buckets are those of A66, A96 and OpenTelemetry's conventions.
#[tokio::test(start_paused = true)]
async fn the_buckets_are_the_documented_ones() {
    let figures = Figures::new();
    let replies = [busy(), refused(), busy(), ok()];
    let lab = Lab::new(counted(&figures).retry(retries(3, 100)), replies);
    lab.unary(ECHO).await.unwrap();
    let read = figures.read();
    let bounds = |name: &str| read.series(name)[0].bounds.clone();
    assert_eq!(bounds(RETRIES), [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(bounds(TRANSPARENT), [1.0, 2.0, 3.0, 4.0, 5.0, 10.0]);
    let latency = bounds("grpc.client.call.duration");
    assert_eq!((latency.len(), latency[0], latency[40]), (41, 0.0, 100.0));
    assert_eq!(bounds("grpc.client.attempt.duration"), latency);
    let rpc = bounds("rpc.client.call.duration");
    assert_eq!((rpc.len(), rpc[0], rpc[13]), (14, 0.005, 10.0));
}

#[tokio::test(start_paused = true)]
async fn each_reason_for_no_further_attempt_is_counted_once() {
    let hint = |millis| busy().trailer("grpc-retry-pushback-ms", millis);
    let cases: [(&str, &'static str, Vec<Reply>); 6] = [
        ("attempts", ECHO, vec![busy()]),
        ("pushback", ECHO, vec![hint("-1")]),
        ("unreadable_pushback", ECHO, vec![hint("soon")]),
        ("not_retryable", ECHO, vec![fails(Code::NotFound)]),
        ("not_idempotent", CHARGE, vec![busy()]),
        ("deadline", ECHO, vec![busy().after(millis(4_950))]),
    ];
    for (reason, method, replies) in cases {
        let figures = Figures::new();
        let builder = counted(&figures).retry(retries(3, 100)).timeout(millis(5_000)).unwrap();
        let lab = Lab::new(builder, replies);
        lab.unary(method).await.unwrap_err();
        let read = figures.read();
        let values = read.values(DENIED, "reason");
        assert_eq!(values.iter().collect::<Vec<_>>(), [reason]);
        assert_eq!(read.of(DENIED, &[]), 1.0, "{reason}");
    }
}

/// Its code is on the list, so "not retryable" would be told of the wrong thing.
#[tokio::test(start_paused = true)]
async fn a_call_that_wants_no_retries_is_denied_them_by_itself() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).retry(retries(3, 100)), [busy()]);
    let mut request = tonic::Request::new("ping");
    request.extensions_mut().insert(CallOptions::new().without_retry());
    let mut client = RawClient::of(ECHO, lab.service.clone());
    client.unary(request).await.unwrap_err();
    assert_eq!(figures.read().of(DENIED, &[("reason", "without_retry")]), 1.0);
    assert_eq!(figures.read().of(DENIED, &[]), 1.0);
}

#[tokio::test(start_paused = true)]
async fn what_the_throttle_denies_is_the_budgets_and_its_tokens_are_seen() {
    let figures = Figures::new();
    let builder = counted(&figures).retry(retries(3, 100));
    let lab = Lab::new(builder.throttle(ThrottlePolicy::grpc(2, 100).unwrap()), [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    let read = figures.read();
    assert_eq!(read.of(DENIED, &[("reason", "budget")]), 1.0);
    assert_eq!(read.of(DENIED, &[]), 1.0);
    let tokens = read.of("resilience.retry.budget.tokens", &[("grpc.target", "lab")]);
    assert_eq!(tokens, f64::from(lab.service.throttle_millitokens().unwrap()) / 1_000.0);
}

/// A client that never tries again is denied nothing.
#[tokio::test(start_paused = true)]
async fn without_retries_none_is_denied() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures), [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    let read = figures.read();
    assert!(read.series(DENIED).is_empty());
    let kind = [("outcome", "failed_without_retry")];
    assert_eq!(read.of("resilience.retry.calls", &kind), 1.0);
}

/// A stream that was handed over and failed afterwards still has its attempt's status.
#[tokio::test(start_paused = true)]
async fn a_failed_attempt_has_the_status_it_failed_with() {
    let figures = Figures::new();
    let reply = Reply::headers().message("1").end(Status::data_loss("gone"));
    let lab = Lab::new(counted(&figures), [reply]);
    lab.call(evenkeel_tonic::MethodKind::ServerStreaming).await.unwrap_err();
    let attempts = "grpc.client.attempt.duration";
    assert_eq!(figures.read().of(attempts, &[("grpc.status", "DATA_LOSS")]), 1.0);
}
