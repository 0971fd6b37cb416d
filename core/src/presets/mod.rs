//! Schedules that other people have written down, each with its source.
//!
//! This file knows where to find them. Whoever replaces a hand-written CoAP or DHCP client, or
//! wants a fleet to behave as its operator's other devices do, starts here.
//!
//! | preset | first | growth | cap | spread |
//! |---|---|---|---|---|
//! | [`FREERTOS`] | 500 ms | × 2 | 5 s | full |
//! | [`Coap`] | 2 to 3 s, drawn once | × 2 | none, 4 repetitions | none after the first |
//! | [`Dhcp4`] | 4 s | × 2 | 64 s | ± 1 s |
//! | [`Dhcp6`] | 1 s or 10 s, by message | × 2 (1.9 to 2.1) | by message, ± 10 % | ± 10 % |
//!
//! All of them answer `next_delay(&mut Growth, &mut impl Random)` as a [`Backoff`] does, but only
//! [`FREERTOS`] is one. [`Coap`], [`Dhcp4`] and [`Dhcp6`] fit no policy: keep a
//! [`Growth`](crate::Growth) and a [`SmallRng`](crate::SmallRng) yourself, and count the repetitions.
//!
//! ```
//! use evenkeel_core::presets::{Coap, FREERTOS};
//! use evenkeel_core::rng::seed_from;
//! use evenkeel_core::{Growth, Instant, Micros, RetryPolicy, SmallRng};
//!
//! const RETRY: RetryPolicy = RetryPolicy::DEFAULT.with_backoff(FREERTOS);
//! assert_eq!(RETRY.backoff().max(), Micros::from_millis(5_000));
//!
//! // A confirmable message, sent at once and then once more after each wait.
//! let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(seed_from(b"chip id")));
//! let mut now = Instant::ZERO;
//! for _repetition in 0..Coap::MAX_RETRANSMIT {
//!     now = now + Coap::RFC_7252.next_delay(&mut growth, &mut rng);
//! }
//! assert!(now.since(Instant::ZERO) <= Coap::MAX_TRANSMIT_SPAN);
//! // It is given up one more wait later.
//! now = now + Coap::RFC_7252.next_delay(&mut growth, &mut rng);
//! assert!(now.since(Instant::ZERO) <= Coap::MAX_TRANSMIT_WAIT);
//! ```

mod coap;
mod dhcp4;
mod dhcp6;

pub use coap::Coap;
pub use dhcp4::Dhcp4;
pub use dhcp6::Dhcp6;

use core::time::Duration;

use crate::{Backoff, Jitter};

/// `FreeRTOS`'s `backoffAlgorithm` with the numbers of its MQTT and HTTP demos: 500 ms doubling to
/// 5 s, full jitter. The demos stop after five retries.
///
/// Where its random number comes from is up to the caller there as here; its documentation, too,
/// asks for a source seeded per device.
///
/// ```
/// use evenkeel_core::{Growth, Micros, SmallRng, presets};
///
/// let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(1));
/// let first = presets::FREERTOS.next_delay(&mut growth, &mut rng);
/// assert!(first <= Micros::from_millis(500));
/// ```
pub const FREERTOS: Backoff = checked!(
    checked!(Backoff::new(Duration::from_millis(500), Duration::from_secs(5)))
        .with_jitter(Jitter::Full)
);
