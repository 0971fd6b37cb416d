//! Exporters and subscribers that fail: O10. No call ends otherwise because of them.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_tests::Listening;
use evenkeel_tonic::Metrics;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{
    Counter, Histogram, HistogramBuilder, InstrumentBuilder, InstrumentProvider, Meter,
    SyncInstrument, UpDownCounter,
};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::lab::{ECHO, KINDS, Lab, busy, client, ok, opens_after, retries};

/// Instruments that panic whenever they are used.
struct Panics;

impl<T> SyncInstrument<T> for Panics {
    fn measure(&self, _: T, _: &[KeyValue]) {
        panic!("the exporter is broken");
    }
}

impl InstrumentProvider for Panics {
    fn u64_counter(&self, _: InstrumentBuilder<'_, Counter<u64>>) -> Counter<u64> {
        Counter::new(Arc::new(Self))
    }

    fn i64_up_down_counter(
        &self,
        _: InstrumentBuilder<'_, UpDownCounter<i64>>,
    ) -> UpDownCounter<i64> {
        UpDownCounter::new(Arc::new(Self))
    }

    fn f64_histogram(&self, _: HistogramBuilder<'_, Histogram<f64>>) -> Histogram<f64> {
        Histogram::new(Arc::new(Self))
    }

    fn u64_histogram(&self, _: HistogramBuilder<'_, Histogram<u64>>) -> Histogram<u64> {
        Histogram::new(Arc::new(Self))
    }
}

#[tokio::test(start_paused = true)]
async fn o10_an_exporter_that_panics_changes_no_call_and_is_told_of_once() {
    let listening = Listening::begin();
    let metrics = Metrics::new(&Meter::new(Arc::new(Panics)));
    for kind in KINDS {
        let lab = Lab::new(client().metrics(&metrics), [ok(), busy()]);
        assert_eq!(lab.call(kind).await.unwrap(), ["pong"], "{kind:?}");
        let failed = lab.call(kind).await.unwrap_err();
        assert_eq!(failed.code(), tonic::Code::Unavailable, "{kind:?}");
    }
    assert_eq!(listening.errors().len(), KINDS.len(), "once for each client");
}

#[tokio::test(start_paused = true)]
async fn o10_retries_and_breakers_work_all_the_same() {
    let metrics = Metrics::new(&Meter::new(Arc::new(Panics)));
    let builder = client().metrics(&metrics).retry(retries(3, 100)).breaker(opens_after(3));
    let lab = Lab::new(builder, [busy(), busy(), ok(), busy()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    lab.unary(ECHO).await.unwrap_err();
    assert_eq!(lab.peer.count(), 6);
    let states = lab.service.circuit_breaker_states();
    assert_eq!(states["lab"][ECHO].state, evenkeel_tonic::core::BreakerState::Open);
}

/// A subscriber that panics at whatever it is asked.
struct Broken;

impl Subscriber for Broken {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "evenkeel"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        panic!("no record");
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("no event");
    }

    fn enter(&self, _: &Id) {
        panic!("no way in");
    }

    fn exit(&self, _: &Id) {
        panic!("no way out");
    }

    fn try_close(&self, _: Id) -> bool {
        panic!("no end");
    }
}

#[tokio::test(start_paused = true)]
async fn o10_a_subscriber_that_panics_changes_no_call() {
    let others = Listening::begin();
    drop(others);
    let _broken = tracing::dispatcher::set_default(&Dispatch::new(Broken));
    for kind in KINDS {
        let builder = client().spans().retry(retries(3, 100)).breaker(opens_after(9));
        let lab = Lab::new(builder, [ok(), busy()]);
        assert_eq!(lab.call(kind).await.unwrap(), ["pong"], "{kind:?}");
        lab.call(kind).await.unwrap_err();
    }
}

/// What an exporter is told is no secret of the caller's, whatever it prints of us.
#[test]
fn the_metrics_print_shortly() {
    let metrics = Metrics::new(&Meter::new(Arc::new(Panics)));
    assert_eq!(Cow::from(format!("{metrics:?}")), "Metrics { .. }");
}
