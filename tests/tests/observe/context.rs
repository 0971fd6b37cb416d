//! Trace context: each attempt carries its own span to the server, through OpenTelemetry.

use std::collections::BTreeSet;
use std::sync::Once;

use evenkeel_tests::Listening;
use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tonic::Request;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;

use crate::lab::{ECHO, Lab, busy, client, ok, refused, retries};

/// A tracer of OpenTelemetry's under `tracing`, for this thread.
fn traced() -> (InMemorySpanExporter, SdkTracerProvider, DefaultGuard) {
    static PROPAGATOR: Once = Once::new();
    PROPAGATOR.call_once(|| global::set_text_map_propagator(TraceContextPropagator::new()));
    drop(Listening::begin());
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    (exporter, provider, guard)
}

#[tokio::test(start_paused = true)]
async fn each_attempt_carries_its_own_span() {
    let (exporter, _provider, _guard) = traced();
    let lab = Lab::new(client().spans().retry(retries(3, 100)), [busy(), refused(), ok()]);
    let mut request = Request::new("ping");
    let theirs = "00-11111111111111111111111111111111-2222222222222222-01";
    request.metadata_mut().insert("traceparent", theirs.parse().unwrap());
    lab.client(ECHO).unary(request).await.unwrap();

    let seen = lab.peer.requests();
    let parents: Vec<&str> = seen.iter().map(|seen| seen.header("traceparent").unwrap()).collect();
    assert_eq!(parents.len(), 3);
    let spans = exporter.get_finished_spans().unwrap();
    let attempts: BTreeSet<String> = spans
        .iter()
        .filter(|span| span.name == "Attempt.lab.v1.Lab/Echo")
        .map(|span| {
            let context = &span.span_context;
            format!("00-{}-{}-01", context.trace_id(), context.span_id())
        })
        .collect();
    assert_eq!(attempts, parents.iter().map(|parent| (*parent).to_owned()).collect());
    let calls: Vec<_> = spans.iter().filter(|span| span.name == "Sent.lab.v1.Lab/Echo").collect();
    let [call] = &*calls else { panic!("{calls:?}") };
    assert_eq!(call.span_kind, opentelemetry::trace::SpanKind::Client);
    for span in spans.iter().filter(|span| span.name.starts_with("Attempt")) {
        assert_eq!(span.parent_span_id, call.span_context.span_id());
    }
}

/// Without spans there is nothing to carry, and what the caller wrote is left alone.
#[tokio::test(start_paused = true)]
async fn without_spans_the_callers_context_goes_through() {
    let (exporter, _provider, _guard) = traced();
    let lab = Lab::new(client().retry(retries(2, 100)), [busy(), ok()]);
    let mut request = Request::new("ping");
    let theirs = "00-11111111111111111111111111111111-2222222222222222-01";
    request.metadata_mut().insert("traceparent", theirs.parse().unwrap());
    lab.client(ECHO).unary(request).await.unwrap();
    for seen in lab.peer.requests() {
        assert_eq!(seen.header("traceparent"), Some(theirs));
    }
    let spans = exporter.get_finished_spans().unwrap();
    assert!(!spans.iter().any(|span| span.name.starts_with("Sent")), "{spans:?}");
}
