//! This file knows how tonic uses the sockets of the simulation.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use futures_util::stream::{Stream, unfold};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::codegen::http::Uri;
use tonic::transport::server::Connected;
use tower::Service;
use turmoil::net::{TcpListener, TcpStream};

pub(crate) const PORT: u16 = 50_051;

/// Everybody who dials this host, for as long as it is polled.
pub(crate) async fn accepted() -> io::Result<impl Stream<Item = io::Result<Socket>>> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    Ok(unfold(listener, |listener| async {
        let socket = listener.accept().await.map(|(stream, _)| Socket(stream));
        Some((socket, listener))
    }))
}

/// Dials hosts by their names.
#[derive(Clone, Debug)]
pub(crate) struct Dialer;

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        Box::pin(async move {
            let name = address.host().unwrap_or_default();
            TcpStream::connect((name, PORT)).await.map(TokioIo::new)
        })
    }
}

/// The server's end of a connection.
#[derive(Debug)]
pub(crate) struct Socket(TcpStream);

impl Connected for Socket {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
