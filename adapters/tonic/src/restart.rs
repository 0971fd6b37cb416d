//! This file knows what a response stream needs that may begin anew: whole messages, and a decoder
//! that can read what comes.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::Status;

use crate::messages::Messages;

/// The messages of a stream, over all its beginnings.
pub(crate) struct Restart {
    pub(crate) messages: Messages,
    /// The caller's decoder was chosen by the first headers.
    encoding: Option<HeaderValue>,
}

impl Restart {
    /// Of a stream whose first headers are these.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self { messages: Messages::default(), encoding: encoding(headers).cloned() }
    }

    /// Begins anew with a stream that has these headers; whether the caller's decoder can read it.
    pub(crate) fn begin_anew(&mut self, headers: &HeaderMap) -> bool {
        // What was half a message died with its attempt.
        self.messages = Messages::default();
        encoding(headers) == self.encoding.as_ref()
    }
}

/// The error of a stream that came back in another encoding; why it had to come back is kept.
pub(crate) fn other_encoding(said: Option<Status>) -> Status {
    let mut status = Status::internal("a restarted stream came with another grpc-encoding");
    if let Some(said) = said {
        status.set_source(Arc::new(said));
    }
    status
}

/// How messages are compressed. To say "identity" and to say nothing is the same.
fn encoding(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(ENCODING).filter(|encoding| *encoding != "identity")
}

const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
