//! This file knows what time it is: the only one of the tests that reads a clock.
//!
//! It is tokio's clock, so that a paused test sees virtual time everywhere.

use core::time::Duration;
use tokio::time::Instant;

/// A moment that others are told from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start(Instant);

impl Start {
    /// Now.
    #[expect(clippy::disallowed_methods, reason = "this is the clock file of the tests")]
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }

    /// How long ago it was.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
