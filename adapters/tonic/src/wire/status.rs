//! This file knows where a response says how the call ended, and what it means when it does not.
//!
//! Before changing it read "Responses" in gRPC's PROTOCOL-HTTP2 and doc/http-grpc-status-mapping.
//! A status may come in the headers (nothing follows: "trailers-only"), in the trailers, or not at
//! all. Code that looks in one place only takes a failed call for a success, or a success for a
//! failure; both are on file elsewhere.

use evenkeel_core::{Code, Micros};
use http::{HeaderMap, HeaderName, StatusCode};

use super::find;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// How the call ended, if the headers of its response say so already.
///
/// `None` while only the trailers will tell. A response with another HTTP status than 200 did not
/// come from a gRPC server, so nothing is waited for.
pub(crate) fn of_headers(http: StatusCode, headers: &HeaderMap) -> Option<Code> {
    written(headers).or_else(|| (http != StatusCode::OK).then(|| mapped(http)))
}

/// How the call ended, once the body of a response that began with HTTP 200 has.
///
/// The trailers know best. Without a status in them it is the one in the headers, if there was one
/// and the body went on all the same; or else `UNKNOWN`, because somebody cut the stream short.
pub(crate) fn of_trailers(
    trailers: Option<&HeaderMap>,
    in_headers: impl FnOnce() -> Option<Code>,
) -> Code {
    trailers.and_then(written).or_else(in_headers).unwrap_or(Code::Unknown)
}

/// Whether an attempt that ended in `code` with `left` of our deadline was ended by the deadline.
///
/// Servers drop a handler whose deadline passed and may answer `CANCELLED`. Two timers race here:
/// the server's started from a value rounded down, ours ends at the deadline. The specification
/// asks the client to call both `DEADLINE_EXCEEDED`. A `CANCELLED` long before stays what it is.
pub(crate) fn is_at_deadline(code: Code, left: Micros) -> bool {
    left.is_zero() || code == Code::Cancelled && left <= DEADLINE_SLACK
}

/// Whether an error of the transport's is tonic's own timer, which is ours a tick early: it too
/// started from the rounded value. Nobody said anything then.
pub(crate) fn is_our_timer(code: Code, left: Micros) -> bool {
    code == Code::DeadlineExceeded && left <= DEADLINE_SLACK
}

/// The code as the core knows it.
pub(crate) fn from_tonic(code: tonic::Code) -> Code {
    Code::from_number(code.into())
}

/// The code as tonic knows it.
pub(crate) fn to_tonic(code: Code) -> tonic::Code {
    tonic::Code::from_i32(code.number())
}

/// Read by tonic, so that the policies and the caller see the same code: `99` and `abc` are
/// `UNKNOWN`, and so is `014`.
fn written(headers: &HeaderMap) -> Option<Code> {
    let value = find(headers, &GRPC_STATUS)?;
    Some(from_tonic(tonic::Code::from_bytes(value.as_bytes())))
}

fn mapped(http: StatusCode) -> Code {
    match http {
        StatusCode::BAD_REQUEST => Code::Internal,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::NOT_FOUND => Code::Unimplemented,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Code::Unavailable,
        _ => Code::Unknown,
    }
}

/// Above a tick of both ends' timers (1 ms each) and the rounding of `grpc-timeout` (up to 1 ms
/// for deadlines below a day); far below any deadline a person sets.
const DEADLINE_SLACK: Micros = Micros::from_millis(5);
