//! This file knows how tonic uses the sockets of the simulation.

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{Stream, unfold};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::codegen::http::Uri;
use tonic::transport::server::Connected;
use tower::Service;
use turmoil::net::{TcpListener, TcpStream};

use crate::backend::Nature;
use crate::book::{Book, Event};
use crate::plan::LINKS;

pub(crate) const PORT: u16 = 50_051;

/// Everybody who dials this host, for as long as it is polled.
pub(crate) async fn accepted() -> io::Result<impl Stream<Item = io::Result<Socket>>> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    Ok(unfold(listener, |listener| async {
        let accepted = listener.accept().await;
        let socket = accepted.map(|(stream, _)| Socket { stream, _counted: None, lost: Lost::No });
        Some((socket, listener))
    }))
}

/// Dials hosts by their names, and counts the connections it has made and that are still there.
/// (The simulation's own count has every dial in it that failed.)
#[derive(Clone)]
pub(crate) struct Dialer {
    host: &'static str,
    book: Book,
    nature: Nature,
    connections: Arc<AtomicUsize>,
}

impl Dialer {
    pub(crate) fn of(host: &'static str, book: Book, nature: Nature) -> Self {
        Self { host, book, nature, connections: Arc::default() }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    fn count(&self) -> Counted {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(&self.connections))
    }

    /// Becomes ready when a connection to `name` that is there now is lost.
    fn loss(&self, name: &str) -> Lost {
        let servers = LINKS.iter().find(|(from, to)| *from == self.host && *to == name);
        let Some(mut resets) = servers.and_then(|link| self.nature.resets(*link)) else {
            return Lost::No;
        };
        let (book, host) = (self.book.clone(), self.host);
        Lost::When(Box::pin(async move {
            _ = resets.changed().await;
            book.note(Event::Reset { host });
        }))
    }
}

/// One connection more, until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<Socket>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Socket>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let dialer = self.clone();
        Box::pin(async move {
            let name = address.host().unwrap_or_default();
            let stream = TcpStream::connect((name, PORT)).await?;
            let (lost, counted) = (dialer.loss(name), Some(dialer.count()));
            Ok(TokioIo::new(Socket { stream, _counted: counted, lost }))
        })
    }
}

/// One end of a connection; clients' are counted, and can be lost.
pub(crate) struct Socket {
    stream: TcpStream,
    _counted: Option<Counted>,
    lost: Lost,
}

/// Whether the other end has reset a connection.
enum Lost {
    No,
    When(BoxFuture<'static, ()>),
    Yes,
}

impl Socket {
    fn poll_lost(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Lost::When(lost) = &mut self.lost
            && lost.as_mut().poll(cx).is_ready()
        {
            self.lost = Lost::Yes;
        }
        match self.lost {
            Lost::Yes => Err(io::ErrorKind::ConnectionReset.into()),
            Lost::No | Lost::When(_) => Ok(()),
        }
    }
}

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
        self.poll_lost(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_lost(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
