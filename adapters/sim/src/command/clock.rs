//! This file knows real time, for measuring how fast virtual time passes. Nothing is decided by it.
#![expect(clippy::disallowed_methods, reason = "this is the command's clock file")]

use core::time::Duration;
use std::time::Instant;

/// A stopwatch for one thread's work.
pub(crate) struct Stopwatch {
    wall: Instant,
    processor: Option<u64>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), processor: processor_time() }
    }

    /// Time on a processor where the system tells it, else on the wall: other programs of a busy
    /// machine are in the second, and not in the first.
    pub(crate) fn read(&self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(start), Some(end)) => Duration::from_nanos(end.saturating_sub(start)),
            _ => self.wall.elapsed(),
        }
    }

    /// Time on the wall.
    pub(crate) fn wall(&self) -> Duration {
        self.wall.elapsed()
    }
}

/// Nanoseconds this thread has spent on a processor, where Linux says so.
fn processor_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}
