//! The span of a call, its attempts below it, and what happened in them: O1, O2, O4, O6.

use core::time::Duration;
use std::sync::Arc;

use evenkeel_tests::{Network, RawClient, Reply, drop_at_every_poll};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::core::BudgetPolicy;
use evenkeel_tonic::{MethodKind, Pool};
use tonic::{Code, Request, Status};

use crate::lab::{
    CHARGE, ECHO, EXPORT, KINDS, Lab, busy, client, fails, millis, ok, opens_after, pass, refused,
    retries,
};
use crate::tracer::{Told, Tracer};

#[tokio::test(start_paused = true)]
async fn o02_one_span_for_the_call_and_one_below_it_for_each_attempt() {
    let tracer = Tracer::begin();
    let lab = Lab::new(client().spans().retry(retries(3, 100)), [busy(), refused(), busy(), ok()]);
    lab.unary(ECHO).await.unwrap();
    let calls = tracer.spans("call");
    let [call] = &*calls else { panic!("{calls:?}") };
    for (field, value) in [
        ("otel.name", "Sent.lab.v1.Lab/Echo"),
        ("otel.kind", "client"),
        ("rpc.system.name", "grpc"),
        ("rpc.method", "lab.v1.Lab/Echo"),
        ("server.address", "lab"),
        ("rpc.status_code", "OK"),
        ("status", "success"),
    ] {
        assert_eq!(call.field(field), Some(value), "{field}");
    }
    assert_eq!((call.field("error.type"), call.field("otel.status_code")), (None, None));
    assert!(call.closed);

    let attempts = tracer.spans("attempt");
    let shown: Vec<_> = attempts
        .iter()
        .map(|attempt| {
            assert_eq!((attempt.parent, attempt.closed), (Some(0), true));
            assert_eq!(attempt.field("otel.name"), Some("Attempt.lab.v1.Lab/Echo"));
            assert_eq!(
                (attempt.field("target"), attempt.field("hedge")),
                (Some("lab"), Some("false"))
            );
            ["previous-rpc-attempts", "transparent-retry", "rpc.status_code"]
                .map(|field| attempt.field(field).unwrap())
        })
        .collect();
    let expected = [
        ["0", "false", "UNAVAILABLE"],
        ["1", "false", "UNAVAILABLE"],
        ["1", "true", "UNAVAILABLE"],
        ["2", "false", "OK"],
    ];
    assert_eq!(shown, expected);
    assert_eq!(attempts[0].field("otel.status_code"), Some("ERROR"));
}

#[tokio::test(start_paused = true)]
async fn decisions_are_events_in_the_calls_span() {
    let tracer = Tracer::begin();
    let builder = client().spans().retry(retries(2, 100)).breaker(opens_after(2));
    let lab = Lab::new(builder, [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    let retried = tracer.events("retry");
    let [retry] = &*retried else { panic!("{retried:?}") };
    assert_eq!(retry.parent, Some(0));
    let told = ["attempts", "because", "code", "upstream", "wait"];
    let told = told.map(|field| retry.field(field).unwrap());
    assert_eq!(told, ["1", "backoff", "UNAVAILABLE", "lab", "100ms"]);
    let denied = tracer.events("retry denied");
    let [denied] = &*denied else { panic!("{denied:?}") };
    let told = ["attempts", "code", "reason", "upstream"];
    let told = told.map(|field| denied.field(field).unwrap());
    assert_eq!((denied.parent, told), (Some(0), ["2", "UNAVAILABLE", "attempts", "lab"]));
    assert!(tracer.events("not sent").is_empty());
    let opened = tracer.events("circuit breaker");
    let [opened] = &*opened else { panic!("{opened:?}") };
    assert_eq!((opened.parent, opened.field("state")), (Some(0), Some("open")));
}

/// All of them end in the same code, and for the same reason.
#[tokio::test(start_paused = true)]
async fn which_limit_was_too_short_is_in_the_event() {
    let tracer = Tracer::begin();
    let late = || client().spans().retry(retries(2, 100)).timeout(millis(2_000)).unwrap();
    let short = |builder: evenkeel_tonic::Builder| builder.attempt_timeout(millis(200)).unwrap();
    Lab::new(late(), [Reply::hang()]).unary(ECHO).await.unwrap_err();
    Lab::new(short(late()), [Reply::hang()]).unary(ECHO).await.unwrap_err();
    Lab::new(late(), [Reply::status(Status::not_found("17"))]).unary(ECHO).await.unwrap_err();
    let told: Vec<_> = tracer.events("retry denied");
    let fields = |field| told.iter().map(|event| event.field(field)).collect::<Vec<_>>();
    assert_eq!(fields("reason"), [Some("not_retryable"); 3]);
    assert_eq!(fields("limit"), [Some("timeout"), Some("attempt_timeout"), None]);

    // Nothing was late, but the wait before another attempt would have been.
    let tracer = Tracer::begin();
    let slow = client().spans().retry(retries(2, 5_000)).timeout(millis(2_000)).unwrap();
    Lab::new(slow, [busy()]).unary(ECHO).await.unwrap_err();
    let [denied] = &*tracer.events("retry denied") else { panic!("one") };
    let told = ["reason", "limit"].map(|field| denied.field(field));
    assert_eq!(told, [Some("deadline"), Some("timeout")]);
}

#[tokio::test(start_paused = true)]
async fn o06_a_failed_call_never_looks_like_a_success() {
    for kind in KINDS {
        let tracer = Tracer::begin();
        let late = Reply::headers().message("pong").end(Status::not_found("late"));
        let lab = Lab::new(client().spans(), [late]);
        lab.call(kind).await.unwrap_err();
        for span in tracer.spans("call").iter().chain(&tracer.spans("attempt")) {
            assert_eq!(span.field("rpc.status_code"), Some("NOT_FOUND"), "{kind:?}");
            assert_eq!(span.field("error.type"), Some("NOT_FOUND"));
            assert_eq!(span.field("otel.status_code"), Some("ERROR"));
        }
        assert_eq!(tracer.spans("call")[0].field("status"), Some("error"));
    }
}

#[tokio::test(start_paused = true)]
async fn o04_spans_of_a_dropped_stream_end_as_cancelled() {
    let tracer = Tracer::begin();
    let reply = Reply::headers().message("1").wait(millis(60_000)).message("2");
    let lab = Lab::new(client().spans(), [reply.end(Status::ok(""))]);
    let mut stream = lab.client(EXPORT).server_streaming("ping").await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    assert!(!tracer.spans("call")[0].closed);
    drop(stream);
    pass(1).await;
    let call = &tracer.spans("call")[0];
    assert_eq!((call.field("status"), call.closed), (Some("cancelled"), true));
    assert_eq!(call.field("otel.status_code"), None, "a caller who left is no error");
    let attempt = &tracer.spans("attempt")[0];
    assert_eq!((attempt.field("rpc.status_code"), attempt.closed), (Some("CANCELLED"), true));
}

#[tokio::test(start_paused = true)]
async fn g89_a_rejected_call_has_no_attempt_below_it() {
    let lab = Lab::new(client().spans().breaker(opens_after(1)), [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    let tracer = Tracer::begin();
    lab.unary(ECHO).await.unwrap_err();
    let call = &tracer.spans("call")[0];
    assert_eq!((call.field("status"), call.field("origin")), (Some("rejected"), Some("local")));
    assert!(tracer.spans("attempt").is_empty());
    assert_eq!(not_sent(&tracer), ["UNAVAILABLE breaker lab"]);
}

/// Nobody was asked, and there is nothing below the call's span: the event says what said no.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_sent_says_who_would_not_have_it() {
    let tracer = Tracer::begin();
    let lab = Lab::new(client().spans().retry(retries(3, 100)), [ok()]);
    let budget = Arc::new(Budget::new(millis(100), BudgetPolicy::DEFAULT).unwrap());
    pass(200).await;
    with_budget(Some(budget), lab.unary(ECHO)).await.unwrap_err();
    let mut request = Request::new("ping");
    request.set_timeout(Duration::ZERO);
    lab.client(ECHO).unary(request).await.unwrap_err();
    let pool = Pool::of([("a", Network::new().channel("a"))]);
    let service = client().spans().build_pool(pool).unwrap();
    let mut pooled = RawClient::of(ECHO, service.clone());
    service.pool().unwrap().set_targets([]);
    pooled.unary("ping").await.unwrap_err();
    service.pool().unwrap().close(millis(1)).await;
    pooled.unary("ping").await.unwrap_err();
    lab.unary(ECHO).await.unwrap();
    let words = [
        "DEADLINE_EXCEEDED request_budget lab",
        "DEADLINE_EXCEEDED deadline lab",
        "UNAVAILABLE no_target lab",
        "UNAVAILABLE closed lab",
    ];
    assert_eq!(not_sent(&tracer), words);
    assert!(tracer.events("retry denied").is_empty(), "it was denied nothing");
    drop(lab.unary(ECHO));
    assert_eq!(not_sent(&tracer).len(), words.len(), "a caller who leaves is told nothing");
}

fn not_sent(tracer: &Tracer) -> Vec<String> {
    let events = tracer.events("not sent");
    let words = |event: &Told| {
        ["code", "reason", "upstream"].map(|field| event.field(field).unwrap().to_owned())
    };
    assert!(events.iter().all(|event| event.parent.is_some()), "each in its call's span");
    events.iter().map(|event| words(event).join(" ")).collect()
}

/// The caller's span is the parent, and is what is current again once a call has been polled.
#[tokio::test(start_paused = true)]
async fn o01_a_call_is_a_child_of_the_callers_span() {
    let tracer = Tracer::begin();
    let lab = Lab::new(client().spans(), [ok()]);
    let handler = tracing::info_span!(target: "test", "handler");
    {
        let _entered = handler.enter();
        tokio::pin! { let call = lab.unary(CHARGE); }
        assert!(evenkeel_tests::poll_n(1, call.as_mut()).await.is_none());
        tracing::info!(target: "test", "in the handler");
    }
    let told = tracer.events("in the handler");
    assert_eq!((tracer.spans("call")[0].parent, told[0].parent), (Some(0), Some(0)));
    assert_eq!(tracer.spans("attempt")[0].parent, Some(1));
}

#[tokio::test(start_paused = true)]
async fn without_being_asked_nothing_is_a_span() {
    let tracer = Tracer::begin();
    let lab = Lab::new(client().retry(retries(2, 10)), [busy(), fails(Code::Internal)]);
    lab.unary(ECHO).await.unwrap_err();
    lab.call(MethodKind::ServerStreaming).await.unwrap_err();
    assert_eq!(tracer.everything(), "[][]");
}

#[tokio::test(start_paused = true)]
async fn o05_the_spans_of_a_call_that_is_dropped_at_any_poll_are_closed() {
    let tracer = Tracer::begin();
    let builder = client().spans().retry(retries(3, 100)).breaker(opens_after(50));
    let lab = Lab::new(builder, [busy(), ok()]);
    let polls = drop_at_every_poll(
        || lab.unary(ECHO),
        async |_| {
            // The channel's own task lets go of the request a moment later.
            pass(1).await;
            let told = tracer.spans("call").into_iter().chain(tracer.spans("attempt"));
            assert!(told.into_iter().all(|span| span.closed));
        },
    );
    assert!(polls.await > 2);
    let calls = tracer.spans("call");
    let cancelled = calls.iter().filter(|call| call.field("status") == Some("cancelled")).count();
    assert_eq!(cancelled, calls.len() - 1, "all but the last");
}
