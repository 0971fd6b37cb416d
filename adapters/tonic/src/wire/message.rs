//! This file knows the bytes of `grpc-message`: percent-encoded UTF-8, if the server is right.
//!
//! Before changing it read "Percent-Encoded" in gRPC's PROTOCOL-HTTP2: what cannot be decoded must
//! neither fail the call nor be thrown away.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::find;

pub(super) const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Rewrites a message that is not UTF-8, so that a person sees its raw form.
///
/// tonic 0.14 reads a status with such a message as UNKNOWN, whatever its code: a caller would see
/// another failure than the policies did, and even OK would be one. It must run on headers and on
/// trailers, whatever the status says.
pub(crate) fn repair(headers: &mut HeaderMap) {
    let repaired = find(headers, &GRPC_MESSAGE).map(HeaderValue::as_bytes).and_then(readable);
    if let Some(repaired) = repaired {
        headers.insert(GRPC_MESSAGE, repaired);
    }
}

/// What to say instead of `message`; `None` if it can be read as it is.
fn readable(message: &[u8]) -> Option<HeaderValue> {
    let plain = message.is_ascii() && !message.contains(&b'%');
    if plain || core::str::from_utf8(&decoded(message)).is_ok() {
        return None;
    }
    let mut raw = Vec::with_capacity(message.len());
    for byte in message {
        match byte {
            b'%' => raw.extend(b"%25"),
            // A byte of its own is no character.
            0x80.. => raw.extend(b"%EF%BF%BD"),
            visible => raw.push(*visible),
        }
    }
    HeaderValue::from_bytes(&raw).ok()
}

/// Decodes as tonic does: a percent sign without two hexadecimal digits stands for itself.
fn decoded(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len());
    let mut rest = message;
    while let [first, after @ ..] = rest {
        let (byte, next) = match after {
            [high, low, next @ ..] if *first == b'%' => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, next),
                _ => (*first, after),
            },
            _ => (*first, after),
        };
        out.push(byte);
        rest = next;
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
