//! This file knows the board that the flash images stand on: the same in each, so that it can be
//! taken off, and as little as a driver can do with.

use core::hint::black_box;

use evenkeel_core::{Deadline, Instant, Outcome};

use crate::any;

/// A reading of the clock.
#[inline(never)]
pub fn now() -> Instant {
    any()
}

/// Sends a request, and waits for its answer until `deadline`.
#[inline(never)]
pub fn send(deadline: Deadline) -> Outcome {
    black_box(deadline);
    *black_box(&Outcome::success())
}

/// Sleeps.
#[inline(never)]
pub fn sleep_until(at: Instant) {
    black_box(at);
}
