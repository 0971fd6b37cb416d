//! This file knows what is counted of connections: gRFC A94.

use core::fmt;
use std::sync::Arc;

use opentelemetry::KeyValue;

use super::Instruments;
use super::meters::target;
use crate::connect::Lost;
use crate::observe::Observing;
use crate::settings::Settings;

/// The series of a client's connections.
pub(crate) struct Subchannel {
    observing: Arc<Observing>,
    instruments: Arc<Instruments>,
    /// `grpc.target`.
    labels: [KeyValue; 1],
}

impl Subchannel {
    pub(crate) fn of(settings: &Settings) -> Option<Arc<Self>> {
        let observing = settings.observing.as_ref()?;
        let metrics = observing.metrics.as_ref()?;
        Some(Arc::new(Self {
            observing: Arc::clone(observing),
            instruments: Arc::clone(&metrics.instruments),
            labels: [target(&settings.target)],
        }))
    }

    /// A dial made a connection.
    pub(crate) fn connected(&self) {
        self.observing.sheltered(|| {
            self.instruments.connected.add(1, &self.labels);
            self.instruments.open.add(1, &self.labels);
        });
    }

    /// A dial did not.
    pub(crate) fn failed(&self) {
        self.observing.sheltered(|| self.instruments.not_connected.add(1, &self.labels));
    }

    /// A connection is gone.
    pub(crate) fn lost(&self, why: Lost) {
        self.observing.sheltered(|| {
            self.instruments.open.add(-1, &self.labels);
            let [target] = self.labels.clone();
            let why = KeyValue::new("grpc.disconnect_error", why.name());
            self.instruments.disconnected.add(1, &[target, why]);
        });
    }
}

impl fmt::Debug for Subchannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subchannel").field("labels", &self.labels).finish_non_exhaustive()
    }
}
