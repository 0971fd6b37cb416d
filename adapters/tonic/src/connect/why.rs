//! This file knows why a connection was lost before it was good, once a call knows.
//!
//! TLS is above the connection, where tonic keeps what came of a handshake to itself and tells one
//! caller alone: the call that came for the connection. Whoever comes in the pause after it, the
//! next attempt of that very call among them, would hear only that a connection was lost.

use core::error::Error;
use core::fmt;
use core::iter::successors;
use std::sync::{Arc, OnceLock};

use tonic::ConnectError;

/// Why a connection was lost early, as far as a call has found out: a certificate that is not
/// trusted or is for another name, an answer that is no TLS. It is the `source()` of
/// [`DialError::LostEarly`](super::DialError::LostEarly).
///
/// Clones are the same: what is learnt late is known to all errors of that connection, also to
/// those that were handed out before.
#[derive(Clone, Default)]
pub struct Why(Arc<OnceLock<Shared>>);

/// An error that several others are the source of.
type Shared = Arc<dyn Error + Send + Sync>;

impl Why {
    /// A call ended in `error`; the first word counts.
    pub(super) fn learn(&self, error: &Shared) {
        _ = self.0.set(Arc::clone(error));
    }

    /// What was learnt, from below the word of tonic's for a dial.
    pub(super) fn get(&self) -> Option<&(dyn Error + 'static)> {
        let whole: &(dyn Error + 'static) = &**self.0.get()?;
        let dial =
            successors(Some(whole), |&error| error.source()).find(|e| e.is::<ConnectError>());
        Some(dial.and_then(Error::source).unwrap_or(whole))
    }
}

impl fmt::Debug for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Why").field(&self.get().map(ToString::to_string)).finish()
    }
}
