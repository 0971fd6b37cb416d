//! This file knows tokio's clock; the only one in this crate that reads it.

use core::future::pending;
use core::time::Duration;
use std::sync::LazyLock;

use evenkeel_std::core::{Clock, Instant, Micros};
use tokio::time::Instant as TokioInstant;

/// tokio's monotonic clock, so that `tokio::time::pause` and `advance` work on everything here.
///
/// All of them share one start, so their readings can be compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate reads time")]
    fn now(&self) -> Instant {
        let since_start = TokioInstant::now().saturating_duration_since(*START);
        Instant::ZERO + Micros::from_duration(since_start)
    }
}

/// Completes at `at` or later, never earlier; at [`Instant::MAX`] never.
///
/// tokio rounds timers up to the millisecond, and its wheel has been wrong beyond years of range:
/// longer waits are made in pieces.
pub async fn sleep_until(at: Instant) {
    loop {
        let now = TokioClock.now();
        if now >= at {
            return;
        }
        let step = now.after(at.since(now).shorter(LONGEST_SLEEP));
        match to_tokio(step) {
            Some(step) => tokio::time::sleep_until(step).await,
            None => pending().await,
        }
    }
}

fn to_tokio(at: Instant) -> Option<TokioInstant> {
    START.checked_add(Duration::from_micros(at.as_micros()))
}

/// Before any runtime began, as far as the platform's clock reaches back: a runtime whose clock is
/// paused may be older than the first reading.
#[expect(clippy::disallowed_methods, reason = "the one place where this crate reads time")]
static START: LazyLock<TokioInstant> = LazyLock::new(|| {
    let now = std::time::Instant::now();
    now.checked_sub(Duration::from_secs(3_600)).unwrap_or(now).into()
});

const LONGEST_SLEEP: Micros = Micros::from_millis(30 * 24 * 3_600 * 1_000);
