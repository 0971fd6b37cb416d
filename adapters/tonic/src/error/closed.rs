//! This file knows the error of a client that was closed.

use core::error::Error;
use core::fmt;
use std::sync::Arc;

use tonic::Status;

use super::with_source;

/// The client was closed: nothing more is sent. The status is `UNAVAILABLE`.
#[derive(Clone)]
#[non_exhaustive]
pub struct Closed {
    /// The client, as it was named when it was built.
    pub upstream: Arc<str>,
    /// Attempts of this call that were made before.
    pub attempts: u16,
    /// What came of them: the last status a server sent, with what a later attempt ended in as its
    /// source; that alone where no server said anything.
    pub last: Option<Status>,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("client is closed")?;
        if self.upstream.is_empty() { Ok(()) } else { write!(f, ": {}", self.upstream) }
    }
}

impl Error for Closed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.last.as_ref().map(|last| last as &(dyn Error + 'static))
    }
}

impl From<Closed> for Status {
    fn from(error: Closed) -> Self {
        with_source(Self::unavailable(error.to_string()), error)
    }
}
