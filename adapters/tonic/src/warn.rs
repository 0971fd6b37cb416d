//! This file knows what deserves a warning, whose it is, and that nobody reads the same one twice.

use portable_atomic::{AtomicU8, Ordering};

/// The client's name as the field `upstream` of an event, which a client without one leaves out.
pub(crate) fn named(upstream: &str) -> Option<&str> {
    (!upstream.is_empty()).then_some(upstream)
}

/// The warnings a client can give, each once in its life.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Warning {
    /// Our service found itself below another of ours.
    Stacked = 1,
    /// Something else below or above repeats attempts too.
    ForeignRetries = 1 << 1,
    /// A call should wait for a connection but has no deadline.
    ReadyWithoutDeadline = 1 << 2,
    /// A caller's `grpc-timeout` could not be read.
    MalformedTimeout = 1 << 3,
}

/// Which warnings have been given.
#[derive(Debug, Default)]
pub(crate) struct Given(AtomicU8);

impl Given {
    /// Whether this is the first time.
    pub(crate) fn first(&self, warning: Warning) -> bool {
        let bit = warning as u8;
        self.0.load(Ordering::Relaxed) & bit == 0
            && self.0.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}
