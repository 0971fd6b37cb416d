//! The waits of a DHCP client (RFC 2131, 4.1).

use core::time::Duration;

use evenkeel_core::{Backoff, Growth, Jitter, Micros, Random, checked};

/// 4, 8, 16, 32, 64 s and then always 64, before the spread.
pub const fn waits() -> Backoff {
    checked!(crate::doubling(Duration::from_secs(4), Duration::from_secs(64), Jitter::None))
}

/// The next wait: one of [`waits`], ± 1 s whatever its length, which no jitter of the core does.
pub fn next_wait(growth: &mut Growth, rng: &mut impl Random) -> Micros {
    let plain = waits().next_delay(growth, rng).as_micros();
    let spread = (u64::from(rng.next_u32()) * 2_000_001) >> 32;
    Micros::from_micros((plain + spread).saturating_sub(1_000_000))
}
