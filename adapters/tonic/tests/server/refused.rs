//! This file knows who gets no budget: requests without a deadline, exempt ones, and those that
//! arrive too late for a handler.

use core::error::Error;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{BudgetPolicy, Micros};
use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::Clock;
use evenkeel_tonic::{BudgetExhausted, OpenBudgetLayer};
use http_body::Body;
use tonic::{Code, Request, Status};
use tower::{Layer, ServiceExt};

use crate::pb::payments_server::PaymentsServer;
use crate::pb::{FetchReply, FetchRequest};
use crate::{EXPORT, FETCH, Lab, found, pass, serve, serve_with, with_timeout};

/// What a patient caller hears from a server with this layer, and how often its handler ran.
async fn fetch(
    layer: OpenBudgetLayer,
    request: Request<FetchRequest>,
) -> (Result<FetchReply, Status>, u32) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let lab = Lab::fetch(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok(found()) }
    });
    let reply = serve_with(layer, lab).patient_client().await.fetch(request).await;
    (reply.map(tonic::Response::into_inner), runs.load(Ordering::Relaxed))
}

fn margin(millis: u64) -> OpenBudgetLayer {
    let policy = BudgetPolicy::DEFAULT.with_safety_margin(Duration::from_millis(millis));
    OpenBudgetLayer::new().with_policy(policy.expect("a valid margin"))
}

#[tokio::test(start_paused = true)]
async fn g62_no_deadline_is_no_budget() {
    let absent = Request::new(FetchRequest::default());
    let malformed = ["82f", "123456789S", "+5S", "S", "5", "", "5 S", "-1S", "1.5S"];
    let malformed = malformed.map(|timeout| with_timeout(timeout, FetchRequest::default()));
    for request in [absent].into_iter().chain(malformed) {
        let header = request.metadata().get("grpc-timeout").cloned();
        let (reply, runs) = fetch(margin(1_000), request).await;
        assert_eq!(reply.expect("a reply").seconds_left, None, "{header:?}");
        assert_eq!(runs, 1, "{header:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn f35_zero_is_not_none() {
    for timeout in ["0n", "0u", "0S", "00000000H"] {
        let request = with_timeout(timeout, FetchRequest::default());
        let (reply, runs) = fetch(OpenBudgetLayer::new(), request).await;
        let status = reply.expect_err("too late");
        assert_eq!(status.code(), Code::DeadlineExceeded, "{timeout}");
        assert_eq!(
            status.message(),
            "no time for /payments.v1.Payments/Fetch: 0.00s left of the caller's deadline, safety \
             margin 0.00s"
        );
        assert_eq!(runs, 0, "{timeout}");
    }
}

#[tokio::test(start_paused = true)]
async fn less_than_the_safety_margin_is_too_late() {
    let request = with_timeout("200m", FetchRequest::default());
    let (reply, runs) = fetch(margin(200), request).await;
    let status = reply.expect_err("too late");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let says = status.message();
    assert!(says.ends_with("0.20s left of the caller's deadline, safety margin 0.20s"), "{says}");
    assert_eq!(runs, 0);

    let request = with_timeout("200001u", FetchRequest::default());
    let (reply, runs) = fetch(margin(200), request).await;
    assert_eq!((reply.expect("a reply").seconds_left, runs), (Some(0.000_001), 1));
}

#[tokio::test(start_paused = true)]
async fn an_exempt_method_is_left_alone() {
    let request = || with_timeout("3S", FetchRequest::default());
    let (reply, _) = fetch(OpenBudgetLayer::new().without(FETCH), request()).await;
    assert_eq!(reply.expect("a reply").seconds_left, None);

    for other in [EXPORT, "payments.v1.Payments/Fetch", "/payments.v1.Payments", "Fetch", ""] {
        let (reply, _) = fetch(OpenBudgetLayer::new().without(other), request()).await;
        assert_eq!(reply.expect("a reply").seconds_left, Some(3.0), "{other}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_headers_only_and_says_why() {
    let service = OpenBudgetLayer::new().layer(PaymentsServer::new(Lab::new()));
    let request = http::Request::post(FETCH).header("grpc-timeout", "0n");
    let request = request.body(tonic::body::Body::empty()).expect("a valid request");
    let response = service.oneshot(request).await.expect("an answer");

    assert_eq!(response.status(), http::StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/grpc");
    assert_eq!(response.headers()["grpc-status"], "4");
    assert!(response.body().is_end_stream());
    assert_eq!(response.body().size_hint().exact(), Some(0));

    // For whatever logs around the layer.
    let status = response.extensions().get::<Status>().expect("the status itself");
    let source = status.source().and_then(|source| source.downcast_ref::<BudgetExhausted>());
    let source = source.expect("why");
    let numbers = (source.elapsed, source.total);
    assert_eq!((&*source.method, numbers), (FETCH, (Micros::ZERO, Micros::ZERO)));
}

/// The answer of tonic's timer is not this layer's business: it comes from outside of it.
#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_dropped_by_tonic() {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let lab = Lab::fetch(move |_| {
        let held = Arc::clone(&held);
        async move {
            pass(60_000).await;
            drop(held);
            Ok(found())
        }
    });
    let began = TokioClock.now();
    let request = with_timeout("1S", FetchRequest::default());
    let status = serve(lab).patient_client().await.fetch(request).await.expect_err("too late");
    assert_eq!(status.code(), Code::Cancelled);
    assert_eq!(TokioClock.now().since(began), Micros::from_millis(1_000));
    assert_eq!(Arc::strong_count(&alive), 2, "one in the test, one in the service");
}
