//! This file knows how a server asks to be left alone, or not to be asked again.
//!
//! Before changing it read "Pushback" in gRPC A6. Of the ways to ask, the header is exact and comes
//! from a gRPC library that knows the retry policy. `RetryInfo` in the status details comes from
//! the application, `Retry-After` from a proxy; these are least waits. The header wins.

use evenkeel_core::{Micros, Pushback};
use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::metadata::MetadataMap;

use super::{details, retry_after};

const GRPC_RETRY_PUSHBACK_MS: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What the headers or trailers of a failed attempt ask for.
///
/// A header that is there but makes no sense is a "do not retry", by A6: a server that tries to
/// hold its clients back must not be hit harder because of a typing error. Several are as bad as
/// none that can be read. A least wait that makes no sense is as good as absent; of two, the longer
/// one counts.
pub(crate) fn read(headers: &HeaderMap) -> Pushback {
    let mut values = headers.get_all(GRPC_RETRY_PUSHBACK_MS).iter();
    match (values.next(), values.next()) {
        (None, _) => {
            let least = details::retry_delay(headers).max(retry_after::read(headers));
            least.map_or(Pushback::None, Pushback::AtLeast)
        }
        (Some(value), None) => millis(value).map_or(Pushback::Stop, Pushback::Exactly),
        (Some(_), Some(_)) => Pushback::Stop,
    }
}

/// Whether the "do not retry" is one that nobody has said: a header, or several, that make no sense.
pub(crate) fn is_unreadable(headers: &MetadataMap) -> bool {
    let mut values = headers.get_all(GRPC_RETRY_PUSHBACK_MS.as_str()).iter();
    match (values.next(), values.next()) {
        (None, _) => false,
        (Some(value), None) => signed(value.as_encoded_bytes()).is_none(),
        (Some(_), Some(_)) => true,
    }
}

/// A wait, if it is none to be read as "never".
fn millis(value: &HeaderValue) -> Option<Micros> {
    Some(Micros::from_millis(u64::try_from(signed(value.as_bytes())?).ok()?))
}

/// A signed 32-bit decimal. Rust's parser takes a plus sign, A6 does not.
fn signed(value: &[u8]) -> Option<i32> {
    core::str::from_utf8(value).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}
