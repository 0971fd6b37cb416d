//! This file knows how a peer's headers are written down in a test, and which words are drawn where
//! there are too many to write down.

mod details;
mod message;
mod pushback;
mod status;
mod timeout;

use evenkeel_core::{Random, SmallRng};
use http::{HeaderMap, HeaderName, HeaderValue};

/// These headers, in this order, repeated names included.
fn headers<const N: usize>(entries: [(&'static str, &[u8]); N]) -> HeaderMap {
    let entry = |(name, value)| {
        let value = HeaderValue::from_bytes(value).expect("a header that can be on the wire");
        (HeaderName::from_static(name), value)
    };
    entries.into_iter().map(entry).collect()
}

/// Words of letters of `alphabet`, shorter than `limit`; the same ones each time.
fn words(alphabet: &[u8], limit: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut rng = SmallRng::seeded(1);
    (0..CASES).map(move |_| {
        let length = below(limit, &mut rng);
        (0..length).map(|_| alphabet[below(alphabet.len(), &mut rng)]).collect()
    })
}

fn below(limit: usize, rng: &mut SmallRng) -> usize {
    rng.next_u32() as usize % limit
}

/// How many inputs are drawn for a test.
const CASES: u32 = 2_000;
