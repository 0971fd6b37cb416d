//! This file knows how a server asks to be left alone, or not to be asked again.
//!
//! Before changing it read "Pushback" in gRPC A6. Of the three ways, `grpc-retry-pushback-ms` is
//! exact and comes from a gRPC library that knows the retry policy. `RetryInfo` in the status
//! details comes from the application, `Retry-After` from whatever speaks HTTP on the way; both are
//! least waits. The first wins, and of the others the longer.

use evenkeel_core::{Micros, Pushback};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::details;

const GRPC_RETRY_PUSHBACK_MS: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What the headers or trailers of a failed attempt ask for.
///
/// A header that is there but makes no sense is a "do not retry", by A6: a server that tries to
/// hold its clients back must not be hit harder because of a typing error. Several are as bad as
/// none that can be read. Least waits that make no sense are as good as absent.
pub(crate) fn read(headers: &HeaderMap) -> Pushback {
    let mut values = headers.get_all(GRPC_RETRY_PUSHBACK_MS).iter();
    match (values.next(), values.next()) {
        (None, _) => least(headers).map_or(Pushback::None, Pushback::AtLeast),
        (Some(value), None) => millis(value).map_or(Pushback::Stop, Pushback::Exactly),
        (Some(_), Some(_)) => Pushback::Stop,
    }
}

fn least(headers: &HeaderMap) -> Option<Micros> {
    let after = headers.get_all(RETRY_AFTER).iter().filter_map(seconds).max();
    details::retry_delay(headers).max(after)
}

/// RFC 9110's other form, a date, is as good as absent: the wall clock decides nothing. A span too
/// long for any clock is a wish all the same, and saturates.
fn seconds(value: &HeaderValue) -> Option<Micros> {
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    if digits.is_empty() {
        return None;
    }
    let seconds = digits.parse::<u64>().unwrap_or(u64::MAX);
    Some(Micros::from_millis(seconds.saturating_mul(1_000)))
}

/// A signed 32-bit decimal that is not negative. Rust's parser takes a plus sign, A6 does not.
fn millis(value: &HeaderValue) -> Option<Micros> {
    let text = value.to_str().ok().filter(|text| !text.starts_with('+'))?;
    let millis = text.parse::<i32>().ok()?;
    Some(Micros::from_millis(u64::try_from(millis).ok()?))
}
