//! The waits of CoAP's confirmable messages (RFC 7252, 4.8).

use core::time::Duration;

use evenkeel_core::{Backoff, Jitter, checked};

/// 2 s × U(1, 1.5), doubling: as a spread around the middle, 2.5 s ± 20 %. The protocol draws once
/// and doubles what it drew, the core draws each time; the ranges are the same.
pub const fn waits() -> Backoff {
    checked!(crate::doubling(
        Duration::from_millis(2_500),
        Duration::from_secs(86_400),
        Jitter::Proportional(200)
    ))
}
