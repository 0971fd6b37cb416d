//! This file knows a connection made of memory, and how it is held up or broken from outside.

use crate::lock;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use std::io;
use std::sync::{Arc, Mutex, Weak};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tonic::transport::server::Connected;

/// What fits into a connection before its writer must wait, each way: HTTP/2's first window.
const CAPACITY: usize = 64 * 1024;

/// One end of a connection on a [`Network`](crate::Network).
#[derive(Debug)]
pub struct Pipe {
    io: DuplexStream,
    link: Arc<Link>,
}

impl Pipe {
    /// Both ends, and what they share.
    pub(super) fn pair() -> (Self, Self, Weak<Link>) {
        let (near, far) = tokio::io::duplex(CAPACITY);
        let link = Arc::new(Link::default());
        let weak = Arc::downgrade(&link);
        (Self { io: near, link: Arc::clone(&link) }, Self { io: far, link }, weak)
    }

    /// Breaks it off for both ends.
    pub(crate) fn sever(self) {
        self.link.set(Flow::Broken);
    }
}

/// Whether anything passes on a connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Flow {
    /// Never again.
    Broken,
    /// Not now.
    Frozen,
    #[default]
    Moving,
}

/// What the two ends share.
#[derive(Debug, Default)]
pub(super) struct Link(Mutex<LinkState>);

#[derive(Debug, Default)]
struct LinkState {
    flow: Flow,
    /// Everybody who has asked since the last change.
    waiting: Vec<Waker>,
}

impl Link {
    /// Changes the flow; what is broken stays broken.
    pub(super) fn set(&self, flow: Flow) {
        let mut state = lock(&self.0);
        if state.flow != Flow::Broken {
            state.flow = flow;
        }
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ready to pass on, or broken. Whoever asks is woken by the next change in any case, because
    /// it may be about to wait for data that then never comes.
    fn poll(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        if !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.waiting.push(cx.waker().clone());
        }
        match state.flow {
            Flow::Broken => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Flow::Frozen => Poll::Pending,
            Flow::Moving => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.link.poll(cx))?;
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.link.poll(cx))?;
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.link.poll(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.link.poll(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl Connected for Pipe {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
