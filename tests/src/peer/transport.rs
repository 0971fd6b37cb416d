//! This file knows how a connection of each kind is broken off.

use crate::net::Pipe;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpStream;

/// A connection a [`Peer`](crate::Peer) can serve.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Breaks it off, so that the client sees an error instead of an orderly end.
    fn abort(self);
}

impl Transport for Pipe {
    fn abort(self) {
        self.sever();
    }
}

impl Transport for TcpStream {
    fn abort(self) {
        // Dropping a socket that does not linger sends RST instead of FIN.
        let _ = self.set_zero_linger();
    }
}

/// Has no way to tell an error from an end: the client sees an end.
impl Transport for DuplexStream {
    fn abort(self) {}
}

/// Nor has this.
#[cfg(unix)]
impl Transport for tokio::net::UnixStream {
    fn abort(self) {}
}
