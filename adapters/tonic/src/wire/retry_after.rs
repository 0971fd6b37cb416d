//! This file knows HTTP's way of asking to be left alone, which proxies use in front of gRPC.
//!
//! Before changing it read "Retry-After" in RFC 9110, 10.2.3. Of its two forms only seconds are
//! read. A date would have to be held against this machine's wall clock, which nothing here trusts;
//! gRPC's proxies send seconds.

use core::time::Duration;

use evenkeel_core::Micros;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue};

/// How long the peer asks to be left alone; of several, the longest.
pub(crate) fn read(headers: &HeaderMap) -> Option<Micros> {
    headers.get_all(RETRY_AFTER).iter().filter_map(seconds).max()
}

/// Digits and nothing else. However many there are, they never become a short wait.
fn seconds(value: &HeaderValue) -> Option<Micros> {
    let digits = value.as_bytes().trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = digits.iter().map(|digit| u64::from(digit - b'0'));
    let seconds = digits.fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(digit));
    Some(Micros::from_duration(Duration::from_secs(seconds)))
}
