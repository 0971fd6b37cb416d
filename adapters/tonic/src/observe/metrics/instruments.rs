//! This file knows the instruments: their names, units and buckets.
//!
//! Names and buckets that begin with `grpc` are those of gRPC's A66, A94 and A96, with `rpc` those of
//! OpenTelemetry's conventions. For the rest there is no convention yet.

use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};

/// Everything that is counted when it happens.
pub(super) struct Instruments {
    pub(super) active: UpDownCounter<i64>,
    pub(super) calls: Counter<u64>,
    pub(super) call_duration: Histogram<f64>,
    pub(super) rpc_duration: Histogram<f64>,
    pub(super) attempts: Counter<u64>,
    pub(super) attempt_duration: Histogram<f64>,
    pub(super) retries: Histogram<u64>,
    pub(super) transparent: Histogram<u64>,
    pub(super) hedges: Histogram<u64>,
    pub(super) retry_delay: Histogram<f64>,
    pub(super) retry_calls: Counter<u64>,
    pub(super) denied: Counter<u64>,
    pub(super) remaining: Histogram<f64>,
    pub(super) transitions: Counter<u64>,
    pub(super) rejections: Counter<u64>,
    pub(super) connected: Counter<u64>,
    pub(super) not_connected: Counter<u64>,
    pub(super) disconnected: Counter<u64>,
    pub(super) open: UpDownCounter<i64>,
}

impl Instruments {
    pub(super) fn new(meter: &Meter) -> Self {
        let count = |name, unit, what| {
            meter.u64_counter(name).with_unit(unit).with_description(what).build()
        };
        let seconds = |name, bounds: &[f64], what| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(what);
            histogram.with_boundaries(bounds.to_vec()).build()
        };
        let each = |name, unit, bounds: &[f64], what| {
            let histogram = meter.u64_histogram(name).with_unit(unit).with_description(what);
            histogram.with_boundaries(bounds.to_vec()).build()
        };
        let level = |name, unit, what| {
            meter.i64_up_down_counter(name).with_unit(unit).with_description(what).build()
        };
        Self {
            active: level("resilience.calls.active", "{call}", "Calls under way"),
            calls: count("resilience.calls", "{call}", "Calls, by how they ended"),
            call_duration: seconds(
                "grpc.client.call.duration",
                &LATENCY,
                "Time of a call, retries included",
            ),
            rpc_duration: seconds(
                "rpc.client.call.duration",
                &RPC_LATENCY,
                "Time of a call, retries included",
            ),
            attempts: count("grpc.client.attempt.started", "{attempt}", "Attempts begun"),
            attempt_duration: seconds(
                "grpc.client.attempt.duration",
                &LATENCY,
                "Time of an attempt",
            ),
            retries: each("grpc.client.call.retries", "{retry}", &FEW, "Retries of a call"),
            transparent: each(
                "grpc.client.call.transparent_retries",
                "{transparent_retry}",
                &TRANSPARENT,
                "Repetitions of what was certainly not executed",
            ),
            hedges: each("grpc.client.call.hedges", "{hedge}", &FEW, "Hedges of a call"),
            retry_delay: seconds(
                "grpc.client.call.retry_delay",
                &LATENCY,
                "Time of a call in which no attempt was under way",
            ),
            retry_calls: count(
                "resilience.retry.calls",
                "{call}",
                "Calls, by whether they succeeded and whether that took retries",
            ),
            denied: count("resilience.retry.denied", "{retry}", "Retries not made, by reason"),
            remaining: seconds(
                "resilience.deadline.remaining",
                &LATENCY,
                "What is left of a call's time when an attempt begins",
            ),
            transitions: count(
                "resilience.breaker.transitions",
                "{transition}",
                "Changes of circuit breakers",
            ),
            rejections: count(
                "resilience.breaker.rejections",
                "{attempt}",
                "Attempts a circuit breaker refused",
            ),
            connected: count(
                "grpc.subchannel.connection_attempts_succeeded",
                "{attempt}",
                "Dials that made a connection",
            ),
            not_connected: count(
                "grpc.subchannel.connection_attempts_failed",
                "{attempt}",
                "Dials that made none",
            ),
            disconnected: count(
                "grpc.subchannel.disconnections",
                "{disconnection}",
                "Connections that ended, by reason",
            ),
            open: level("grpc.subchannel.open_connections", "{connection}", "Connections"),
        }
    }
}

/// A66's, in seconds.
const LATENCY: [f64; 41] = [
    0.0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005,
    0.006, 0.008, 0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16,
    0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0,
];

/// OpenTelemetry's for RPC, in seconds.
const RPC_LATENCY: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// A96's for retries and hedges.
const FEW: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

/// A96's for transparent retries.
const TRANSPARENT: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 10.0];
