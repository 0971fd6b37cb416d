//! This file knows the connections of members: over whatever connector the pool was given, or a
//! socket in the file system; and each of them can be cut.

use core::fmt;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::io::{self, IoSlice};
use std::sync::Arc;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use tower_service::Service;

use super::cut::{Cut, Watch};
use super::place::Way;
use crate::error::BoxError;

/// Makes the connections of one member.
pub(crate) struct Transport<C> {
    way: Way,
    connector: C,
    cut: Arc<Cut>,
}

impl<C> Transport<C> {
    pub(crate) const fn new(way: Way, connector: C, cut: Arc<Cut>) -> Self {
        Self { way, connector, cut }
    }
}

impl<C> Service<Uri> for Transport<C>
where
    C: Service<Uri, Response: Read + Write + Send + Unpin, Error: Into<BoxError>, Future: Send>,
    C::Future: 'static,
{
    type Response = Wire<C::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self.way {
            Way::Tcp(_) => self.connector.poll_ready(cx).map_err(Into::into),
            Way::Unix(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let watch = Watch::new(&self.cut);
        match &self.way {
            Way::Tcp(_) => {
                let dial = self.connector.call(uri);
                Box::pin(async move {
                    let dial = async { dial.await.map_err(Into::into) };
                    let io = Io::Given(unless_cut(&watch, dial).await?);
                    Ok(Wire { io, watch })
                })
            }
            Way::Unix(path) => {
                let path = Arc::clone(path);
                Box::pin(async move {
                    let dial = async { socket(&path).await.map_err(Into::into) };
                    let io = Io::Socket(unless_cut(&watch, dial).await?);
                    Ok(Wire { io, watch })
                })
            }
        }
    }
}

impl<C> fmt::Debug for Transport<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("way", &self.way).finish_non_exhaustive()
    }
}

async fn unless_cut<T>(
    watch: &Watch,
    dial: impl Future<Output = Result<T, BoxError>>,
) -> Result<T, BoxError> {
    let mut dial = pin!(dial);
    poll_fn(|cx| match watch.poll(cx) {
        Poll::Ready(over) => Poll::Ready(Err(over.into())),
        Poll::Pending => dial.as_mut().poll(cx),
    })
    .await
}

/// A connection that can be cut.
#[derive(Debug)]
pub(crate) struct Wire<T> {
    io: Io<T>,
    watch: Watch,
}

#[derive(Debug)]
enum Io<T> {
    /// The connector's.
    Given(T),
    Socket(Socket),
}

/// Hands a call on to whichever of the two it is.
macro_rules! either {
    ($wire:ident, $io:ident => $call:expr) => {
        match &mut $wire.get_mut().io {
            Io::Given($io) => {
                let $io = Pin::new($io);
                $call
            }
            Io::Socket($io) => {
                let $io = Pin::new($io);
                $call
            }
        }
    };
}

impl<T: Read + Unpin> Read for Wire<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(over) = self.watch.poll(cx) {
            return Poll::Ready(Err(over));
        }
        either!(self, io => io.poll_read(cx, buf))
    }
}

impl<T: Write + Unpin> Write for Wire<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self, io => io.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, io => io.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, io => io.poll_shutdown(cx))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Given(io) => io.is_write_vectored(),
            Io::Socket(io) => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, io => io.poll_write_vectored(cx, bufs))
    }
}

#[cfg(unix)]
type Socket = hyper_util::rt::TokioIo<tokio::net::UnixStream>;

#[cfg(unix)]
async fn socket(path: &str) -> io::Result<Socket> {
    tokio::net::UnixStream::connect(path).await.map(hyper_util::rt::TokioIo::new)
}

/// Where there are none, dialling one fails; what stands here is never made.
#[cfg(not(unix))]
type Socket = hyper_util::rt::TokioIo<tokio::net::TcpStream>;

#[cfg(not(unix))]
async fn socket(_: &str) -> io::Result<Socket> {
    Err(io::ErrorKind::Unsupported.into())
}
