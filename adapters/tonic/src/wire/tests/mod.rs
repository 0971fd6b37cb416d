//! This file knows how a peer's headers are written down in a test.

mod details;
mod message;
mod pushback;
mod status;
mod timeout;

use http::{HeaderMap, HeaderName, HeaderValue};

/// These headers, in this order, repeated names included.
fn headers<const N: usize>(entries: [(&'static str, &[u8]); N]) -> HeaderMap {
    let entry = |(name, value)| {
        let value = HeaderValue::from_bytes(value).expect("a header that can be on the wire");
        (HeaderName::from_static(name), value)
    };
    entries.into_iter().map(entry).collect()
}
