//! This file knows the bytes of `grpc-status-details-bin`: base64 around a `google.rpc.Status`.
//!
//! Before changing it read `status.proto` and `error_details.proto` of google/rpc, and
//! "Binary-Header" in gRPC's PROTOCOL-HTTP2: the padding may be there or not.
//!
//! The four messages are written out by hand. They have been frozen for years, two fields of each
//! matter here, and a generator would be a build dependency of everybody.

use core::time::Duration as Span;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use evenkeel_core::Micros;
use http::{HeaderMap, HeaderName, HeaderValue};
use prost::Message;

use super::find;

pub(super) const GRPC_STATUS_DETAILS: HeaderName =
    HeaderName::from_static("grpc-status-details-bin");

/// Removes details that are not base64.
///
/// tonic 0.14 decodes them with `expect`, so without this a server could kill the task of any
/// caller with one header. It must run on headers and on trailers, whatever the status says.
pub(crate) fn defuse(headers: &mut HeaderMap) {
    if find(headers, &GRPC_STATUS_DETAILS).is_some_and(|value| decode(value).is_none()) {
        headers.remove(GRPC_STATUS_DETAILS);
    }
}

/// How long the server's `RetryInfo` asks to be left alone; of several, the longest.
///
/// What cannot be read is no wish: `None`, like no details at all. A span too long for any clock
/// is a wish all the same, and saturates.
pub(crate) fn retry_delay(headers: &HeaderMap) -> Option<Micros> {
    let value = find(headers, &GRPC_STATUS_DETAILS).filter(|value| value.len() <= MAX_ENCODED)?;
    let status = Status::decode(&*decode(value)?).ok()?;
    status.details.iter().filter_map(Any::retry_delay).max()
}

/// Decodes exactly what tonic does, so that what passes here passes there.
fn decode(value: &HeaderValue) -> Option<Vec<u8>> {
    const BASE64: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    BASE64.decode(value.as_bytes()).ok()
}

/// Longer details are not searched for a `RetryInfo`: they are a stack trace, not a wish.
const MAX_ENCODED: usize = 16 * 1024;

/// `google.rpc.Status` without its code and message, which travel in headers of their own.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Duration>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Message)]
struct Duration {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

impl Any {
    fn retry_delay(&self) -> Option<Micros> {
        // Everything up to the last slash says where the type is described, and is free.
        if self.type_url.rsplit('/').next() != Some("google.rpc.RetryInfo") {
            return None;
        }
        RetryInfo::decode(&*self.value).ok()?.retry_delay?.span()
    }
}

impl Duration {
    /// `None` for what is no wait: a negative span, or nanoseconds beyond a second.
    fn span(self) -> Option<Micros> {
        let seconds = u64::try_from(self.seconds).ok()?;
        let nanos = u32::try_from(self.nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
        Some(Micros::from_duration(Span::new(seconds, nanos)))
    }
}
