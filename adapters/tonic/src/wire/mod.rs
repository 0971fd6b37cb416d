//! This file knows which headers gRPC speaks in; its modules read and write them.
//!
//! Everything below is a function from headers to values and back: no service, no clock, no state.
//! Whatever a peer sends is data here. It may be refused, but it never panics, never allocates
//! more than it weighs, and never turns into "no limit".

pub(crate) mod details;
pub(crate) mod message;
pub(crate) mod pushback;
pub(crate) mod retry_after;
pub(crate) mod status;
pub(crate) mod timeout;

use http::{HeaderMap, HeaderName, HeaderValue};

#[cfg(test)]
mod tests;

/// Makes headers or trailers safe to be read by tonic, whatever a server put into them.
pub(crate) fn defuse(headers: &mut HeaderMap) {
    // Most have neither, and are looked through once.
    let (mut has_details, mut has_message) = (false, false);
    for name in headers.keys() {
        has_details |= *name == details::GRPC_STATUS_DETAILS;
        has_message |= *name == message::GRPC_MESSAGE;
    }
    if has_details {
        details::defuse(headers);
    }
    if has_message {
        message::repair(headers);
    }
}

/// The first value of `name`, as [`HeaderMap::get`] finds it. Trailers are one header and what
/// generated clients send are four: to look at each takes a fifth of what it takes to hash a name.
#[inline]
pub(crate) fn find<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    if headers.len() > FEW {
        return headers.get(name);
    }
    headers.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
}

const FEW: usize = 8;
