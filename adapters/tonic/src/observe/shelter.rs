//! This file knows how a fault of somebody else's is kept from a call.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use portable_atomic::Ordering;

use super::Observing;
use crate::warn::named;

impl Observing {
    /// Runs code of a subscriber or an exporter. `None` when it panicked, which is said once.
    pub(super) fn sheltered<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        // Nothing of ours is lent to it that it could leave half done.
        let ran = catch_unwind(AssertUnwindSafe(run)).ok();
        if ran.is_none() && !self.faulted.swap(true, Ordering::Relaxed) {
            report(&self.upstream);
        }
        ran
    }
}

/// Perhaps the subscriber is what panicked: then nobody hears this either.
fn report(upstream: &str) {
    _ = catch_unwind(|| {
        tracing::error!(
            target: "evenkeel",
            upstream = named(upstream),
            "a metrics exporter or a subscriber panicked: calls go on, what it was told is lost",
        );
    });
}
