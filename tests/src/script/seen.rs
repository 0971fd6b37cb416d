//! This file knows what is kept of a request that came.

use core::time::Duration;
use h2::Reason;
use http::HeaderMap;

/// A request as it was seen so far.
///
/// Times are counted on the tokio clock from the making of the peer or stub.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When its headers came.
    pub at: Duration,
    /// Its `:authority`, if it had one.
    pub authority: Option<String>,
    /// The path, `/package.Service/Method`.
    pub path: String,
    /// All headers, `grpc-timeout` and `grpc-previous-rpc-attempts` among them.
    pub headers: HeaderMap,
    /// What has come of the body: messages with their gRPC prefix.
    pub body: Vec<u8>,
    /// Whether the body has ended.
    pub ended: bool,
    /// When and why the client reset the stream, if it did. Going away counts: a dropped call
    /// sends CANCEL.
    pub reset: Option<(Duration, Reason)>,
    /// On which connection of the peer, counted from zero.
    pub connection: usize,
}

impl Seen {
    /// The header `name`; nothing when it is absent or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The `grpc-timeout` the request carried; nothing when it is absent or malformed.
    pub fn timeout(&self) -> Option<Duration> {
        let text = self.header("grpc-timeout")?;
        let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let count: u32 = digits.parse().ok()?;
        let unit = match unit {
            "n" => Duration::from_nanos(1),
            "u" => Duration::from_micros(1),
            "m" => Duration::from_millis(1),
            "S" => Duration::from_secs(1),
            "M" => Duration::from_secs(60),
            "H" => Duration::from_secs(3600),
            _ => return None,
        };
        unit.checked_mul(count)
    }

    /// The whole messages that have come, without their prefixes.
    pub fn messages(&self) -> Vec<&[u8]> {
        let mut messages = Vec::new();
        let mut rest = self.body.as_slice();
        while let Some((message, after)) = split_message(rest) {
            messages.push(message);
            rest = after;
        }
        messages
    }
}

/// The first whole message, and what follows it.
fn split_message(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (prefix, rest) = body.split_first_chunk::<5>()?;
    let [_compressed, length @ ..] = prefix;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    rest.split_at_checked(length)
}
