//! This file knows how a deadline travels: the `grpc-timeout` header, written and read.
//!
//! Before changing it read "Timeout" in gRPC's PROTOCOL-HTTP2: one to eight digits, then one unit.
//!
//! Why not tonic's own `set_timeout`? It panics on the longest durations, and it sends a deadline
//! that has passed as "0n", which is no timeout by the grammar. Why not its parser? It takes
//! "+5S", which other servers refuse, so the two ends would disagree about the deadline.

use core::time::Duration;

use evenkeel_core::Micros;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::find;

/// The header's name. Built at compile time: making one from a string costs a hash per call.
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// What a request says about its deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Timeout {
    /// Nothing: it has none.
    Absent,
    /// Something that the grammar does not allow. Peers ignore it, and so must a reader; but it
    /// is not "absent", because somebody meant a deadline and should hear that it is not kept.
    Malformed,
    /// This much is left. Zero is a value: nothing is left.
    Value(Micros),
}

/// Reads the timeout of a request; of several, the first, as tonic does.
pub(crate) fn read(headers: &HeaderMap) -> Timeout {
    match find(headers, &GRPC_TIMEOUT) {
        None => Timeout::Absent,
        Some(value) => decode(value).map_or(Timeout::Malformed, Timeout::Value),
    }
}

/// Writes what is left: in the finest unit from microseconds up that fits into eight digits,
/// rounded down, so that a peer never works past our deadline.
///
/// The grammar knows no zero, so the least is one microsecond; the most is 99,999,999 hours.
pub(crate) fn encode(left: Micros) -> HeaderValue {
    let (mut count, letter) = finest(left);
    let mut text = [letter; MAX_DIGITS + 1];
    let mut start = MAX_DIGITS;
    loop {
        start -= 1;
        text[start] = b'0' + (count % 10) as u8;
        count /= 10;
        if count == 0 {
            break;
        }
    }
    HeaderValue::from_bytes(&text[start..]).expect("digits and a letter are visible ASCII")
}

/// How many of which unit.
fn finest(left: Micros) -> (u64, u8) {
    let mut counts =
        UNITS.into_iter().map(|(unit, letter)| ((left.as_micros() / unit).max(1), letter));
    counts.find(|(count, _)| *count <= MAX_COUNT).unwrap_or((MAX_COUNT, b'H'))
}

fn decode(value: &HeaderValue) -> Option<Micros> {
    let (letter, digits) = value.as_bytes().split_last()?;
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return None;
    }
    let mut count = 0;
    for digit in digits {
        count = count * 10 + u64::from(char::from(*digit).to_digit(10)?);
    }
    if *letter == b'n' {
        return Some(Micros::from_duration(Duration::from_nanos(count)));
    }
    // At most 99,999,999 hours: 3.6 × 10^17 µs, far from the end of 64 bits.
    let (unit, _) = UNITS.into_iter().find(|(_, known)| known == letter)?;
    Some(Micros::from_micros(count * unit))
}

const MAX_DIGITS: usize = 8;
const MAX_COUNT: u64 = 99_999_999;

/// The units that are written, in microseconds, finest first. Nanoseconds are only read: no timer
/// of ours is that fine.
const UNITS: [(u64, u8); 5] =
    [(1, b'u'), (1_000, b'm'), (1_000_000, b'S'), (60_000_000, b'M'), (3_600_000_000, b'H')];
