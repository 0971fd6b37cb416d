//! This file knows how a client is told to tell about its calls.

use super::Builder;
use crate::AllowList;
#[cfg(feature = "otel")]
use crate::Metrics;

impl Builder {
    /// Makes a `tracing` span of each call and, below it, of each attempt; retries, retries that
    /// were not made, and changes of circuit breakers are events in them.
    ///
    /// Their target is `evenkeel`, their level `INFO`, their fields those of gRPC's A72 and of
    /// OpenTelemetry's conventions. No metadata and no message is in them. The text of an error is
    /// only where it tells of a fault: `INTERNAL`, `UNKNOWN`, `DATA_LOSS`.
    ///
    /// With the feature `otel` each attempt carries its own trace context to the server, written by
    /// the propagator the program has set with `opentelemetry::global::set_text_map_propagator`.
    pub fn spans(mut self) -> Self {
        self.observing.spans = true;
        self
    }

    /// Counts calls, attempts, retries and circuit breakers.
    ///
    /// Needs the feature `otel`. Give the client a [target](Self::target) and its
    /// [methods](Self::methods): they are the labels of its series.
    #[cfg(feature = "otel")]
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.observing.metrics = Some(metrics.clone());
        self
    }

    /// Methods of whose errors nothing but the code may be told. (For all others the text of some
    /// errors is in the call's [span](Self::spans).)
    pub fn sensitive(mut self, methods: AllowList) -> Self {
        self.observing.sensitive = methods;
        self
    }
}
