//! This file knows the single things a reply can do.

use crate::script::Seen;
use bytes::Bytes;
use core::fmt;
use core::time::Duration;
use h2::Reason;
use http::{HeaderMap, StatusCode};
use std::sync::Arc;

/// Which stream a GOAWAY names as the last one that was or will be processed.
///
/// A client may repeat every request above it without asking whether it was executed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Last {
    /// The stream before this one: this request is refused.
    Before,
    /// This one: it is accepted, only later ones are refused.
    This,
}

/// One thing done on the stream of a request, or to the connection below it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The connection breaks off rudely, and what is under way is lost.
    Abort,
    /// The connection ends politely, after everything queued was sent.
    Close,
    /// Bytes of the body: a message, several, or half of one.
    Data(Bytes),
    /// The body ends without trailers.
    End,
    /// The request takes effect.
    Execute(Hook),
    /// That many CONTINUATION frames of 16 KiB, in a header block that never ends.
    Flood(usize),
    /// A GOAWAY frame; the connection goes on.
    GoAway(Last, Reason),
    /// The response headers.
    Head(Head),
    /// The stream is reset, after everything queued was sent.
    Reset(Reason),
    /// The trailers, which end the body.
    Trailers(HeaderMap),
    /// Nothing for a while.
    Wait(Duration),
}

impl Step {
    /// Whether the stream is over after it.
    pub(crate) const fn ends_the_stream(&self) -> bool {
        match self {
            Self::Head(head) => head.end,
            Self::End | Self::Reset(_) | Self::Trailers(_) => true,
            _ => false,
        }
    }
}

/// The response headers.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Whether nothing follows ("trailers-only" in the words of gRPC).
    pub(crate) end: bool,
}

impl Head {
    /// As the start of an answer.
    pub(crate) fn response(&self) -> http::Response<()> {
        let mut response = http::Response::new(());
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}

/// What a test wants done when a request takes effect.
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<dyn Fn(&Seen) + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
