//! This module knows what a client tells about its calls: one record for each, as a span and in
//! metrics, with its attempts below it.
//!
//! Nothing here decides anything. What belongs to somebody else (a subscriber, an exporter) runs in
//! a [shelter], so that no fault of theirs becomes a call's.
//!
//! The rest of the crate calls it in few places: `service` begins a [`Seen`], the upstream of the
//! call tells it of attempts (`admit`, `record`, `retry_allowed`), the flow how the call ended;
//! connections tell a [`Subchannel`] that they are there and that they are gone.

use std::sync::Arc;

use portable_atomic::AtomicBool;

use crate::AllowList;
use crate::settings::Settings;

mod circuit;
mod ending;
mod flights;
mod seen;
mod shelter;
mod spans;
mod tally;
mod view;

#[cfg(feature = "otel")]
mod metrics;
#[cfg(feature = "otel")]
mod propagation;
#[cfg(not(feature = "otel"))]
mod unmetered;

#[cfg(feature = "otel")]
pub use metrics::Metrics;

#[cfg(feature = "otel")]
use metrics::Meters;
#[cfg(feature = "otel")]
pub(crate) use metrics::Subchannel;
#[cfg(not(feature = "otel"))]
use unmetered::Meters;
#[cfg(not(feature = "otel"))]
pub(crate) use unmetered::Subchannel;

pub(crate) use seen::Seen;
pub(crate) use spans::Scope;
pub(crate) use view::View;

/// What a client was told to tell.
#[derive(Debug, Default)]
pub(crate) struct Observing {
    /// Whose calls they are, for the log.
    upstream: Box<str>,
    /// Whether each call and each attempt is a span.
    pub(crate) spans: bool,
    /// Methods whose errors are nobody's business.
    pub(crate) sensitive: AllowList,
    #[cfg(feature = "otel")]
    pub(crate) metrics: Option<Metrics>,
    /// Whether somebody's fault was reported already.
    faulted: AtomicBool,
}

impl Settings {
    /// Says to whoever reads its gauges that this client is there, and to its connection who counts.
    pub(crate) fn announce(self: &Arc<Self>) {
        #[cfg(feature = "otel")]
        if let Some(metrics) = self.observing.as_ref().and_then(|told| told.metrics.as_ref()) {
            metrics.watch(self);
        }
        if let Some(connectivity) = &self.connectivity {
            connectivity.told_to(Subchannel::of(self));
        }
    }
}

impl Observing {
    /// For all clones of a client; `None` where there is nothing to tell, or nobody to tell it.
    pub(crate) fn shared(self, upstream: &str) -> Option<Arc<Self>> {
        #[cfg(feature = "otel")]
        let metered = self.metrics.is_some();
        #[cfg(not(feature = "otel"))]
        let metered = false;
        (self.spans || metered).then(|| Arc::new(Self { upstream: upstream.into(), ..self }))
    }
}
