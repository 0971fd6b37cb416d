//! This file knows why a connection ended, in the words of gRFC A94.

use std::io::{Error, ErrorKind};

/// Why a connection is gone, as far as can be told from below HTTP/2 and TLS.
///
/// A GOAWAY and a ping without an answer are seen above, where tonic keeps them to itself; here they
/// are [`Unknown`](Self::Unknown), like a server that closes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lost {
    Aborted,
    Reset,
    /// Nobody wanted it any more: it was idle, or its channel is gone.
    Shutdown,
    Socket,
    TimedOut,
    Unknown,
}

impl Lost {
    /// What an error on it says.
    pub(super) fn of(error: &Error) -> Self {
        match error.kind() {
            // A connection that we cut ourselves says so as well, and not by the system's word.
            ErrorKind::ConnectionAborted if error.raw_os_error().is_none() => Self::Shutdown,
            ErrorKind::ConnectionAborted => Self::Aborted,
            ErrorKind::ConnectionReset => Self::Reset,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::UnexpectedEof => Self::Unknown,
            _ => Self::Socket,
        }
    }

    /// As in `grpc.disconnect_error`.
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "nobody counts then"))]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Aborted => "connection aborted",
            Self::Reset => "connection reset",
            Self::Shutdown => "subchannel shutdown",
            Self::Socket => "socket error",
            Self::TimedOut => "connection timed out",
            Self::Unknown => "unknown",
        }
    }
}
