//! This module knows the numbers a client gives: [`Metrics`] over OpenTelemetry.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use opentelemetry::metrics::Meter;

use crate::settings::Settings;

mod gauges;
mod instruments;
mod meters;
mod subchannel;

use instruments::Instruments;
pub(super) use meters::Meters;
pub(crate) use subchannel::Subchannel;

/// The instruments of any number of clients. Clones are cheap and share everything.
///
/// Make one for a program, and give it to [every client](crate::Builder::metrics). It only speaks
/// OpenTelemetry's interface; who reads the numbers, and how, is for whoever made the meter to say.
///
/// ```
/// use evenkeel_tonic::{Metrics, Resilient};
///
/// # fn example(meter: opentelemetry::metrics::Meter) {
/// let metrics = Metrics::new(&meter);
/// let orders = Resilient::builder().target("orders").metrics(&metrics);
/// let billing = Resilient::builder().target("billing").metrics(&metrics);
/// # let _ = (orders, billing);
/// # }
/// ```
///
/// Series are told apart by the client's target (`grpc.target`) and by the methods of its
/// [table](crate::Builder::methods) (`grpc.method`); all other methods are `other`, because names
/// that come off the wire must not make series. Two clients that are to be told apart need two
/// names.
#[derive(Clone)]
pub struct Metrics {
    instruments: Arc<Instruments>,
    watched: Arc<Watched>,
}

/// The clients whose breakers and throttles are looked at when somebody reads.
#[derive(Default)]
struct Watched(Mutex<Vec<Weak<Settings>>>);

impl Metrics {
    /// Makes the instruments with `meter`.
    pub fn new(meter: &Meter) -> Self {
        let watched = Arc::new(Watched::default());
        gauges::make(meter, &watched);
        Self { instruments: Arc::new(Instruments::new(meter)), watched }
    }

    /// Looks at this client too, for as long as it lives.
    pub(crate) fn watch(&self, settings: &Arc<Settings>) {
        let mut watched = self.watched.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|client| client.strong_count() > 0);
        watched.push(Arc::downgrade(settings));
    }
}

impl Watched {
    fn clients(&self) -> Vec<Arc<Settings>> {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().filter_map(Weak::upgrade).collect()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
