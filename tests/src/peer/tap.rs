//! This file knows how to reach the bytes below `h2`: to write frames it has no word for, and to
//! close the connection under its feet.
//!
//! Both must wait until everything `h2` has been given is on its way, because neither a frame nor
//! a FIN may fall into the middle of another frame. [`Tap::settle`] waits for that: the task of
//! the connection calls [`Tap::announce`] each time `h2` has nothing left to do, and the tap
//! remembers whether the last thing it was asked for was a flush that succeeded.

use crate::lock;
use crate::peer::Transport;
use bytes::{Buf, Bytes, BytesMut};
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use std::io;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::Notify;

/// The connection as `h2` holds it, and as a reply gets hold of it. A clone is the same connection.
#[derive(Debug)]
pub(super) struct Tap<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    settled: Notify,
}

#[derive(Debug)]
struct State<T> {
    /// Nothing after it was closed.
    io: Option<T>,
    /// Frames of ours, to be written before anything else of `h2`.
    ours: BytesMut,
    flushed: bool,
}

impl<T: Transport> Tap<T> {
    pub(super) fn new(io: T) -> Self {
        let state = State { io: Some(io), ours: BytesMut::new(), flushed: true };
        Self(Arc::new(Shared { state: Mutex::new(state), settled: Notify::new() }))
    }

    /// Waits until everything queued so far has been written.
    ///
    /// Only inside the task that polls the connection, and after it in every turn: what wakes this
    /// is the next turn in which the connection has nothing left to do.
    pub(super) async fn settle(&self) {
        let mut settled = pin!(self.0.settled.notified());
        let mut asked = false;
        poll_fn(|cx| {
            if !asked {
                // There may be nothing to write, and so nobody else who asks for that turn.
                asked = true;
                cx.waker().wake_by_ref();
            }
            settled.as_mut().poll(cx)
        })
        .await;
    }

    /// Tells those who wait that the connection has nothing left to do, if all is written.
    pub(super) fn announce(&self) {
        if lock(&self.0.state).flushed {
            self.0.settled.notify_waiters();
        }
    }

    /// Queues whole frames. Only when settled.
    pub(super) fn write(&self, frames: &Bytes) {
        lock(&self.0.state).ours.extend_from_slice(frames);
    }

    /// Sends FIN; goes on reading, because a socket closed over unread data sends RST.
    pub(super) fn close(&self) {
        let Some(mut io) = self.take() else { return };
        tokio::spawn(async move {
            if io.shutdown().await.is_ok() {
                let _ = tokio::io::copy(&mut io, &mut tokio::io::sink()).await;
            }
        });
    }

    /// Breaks the connection off.
    pub(super) fn abort(&self) {
        if let Some(io) = self.take() {
            io.abort();
        }
    }

    fn take(&self) -> Option<T> {
        lock(&self.0.state).io.take()
    }
}

impl<T> Clone for Tap<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Transport> State<T> {
    fn io(&mut self) -> io::Result<Pin<&mut T>> {
        let io = self.io.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Pin::new(io))
    }

    fn poll_write_ours(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.ours.is_empty() {
            let io = self.io.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            let written = ready!(Pin::new(io).poll_write(cx, &self.ours))?;
            self.ours.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: Transport> AsyncRead for Tap<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut lock(&self.0.state).io {
            Some(io) => Pin::new(io).poll_read(cx, buf),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl<T: Transport> AsyncWrite for Tap<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = lock(&self.0.state);
        state.flushed = false;
        ready!(state.poll_write_ours(cx))?;
        state.io()?.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0.state);
        state.flushed = false;
        ready!(state.poll_write_ours(cx))?;
        ready!(state.io()?.poll_flush(cx))?;
        state.flushed = true;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0.state);
        ready!(state.poll_write_ours(cx))?;
        state.io()?.poll_shutdown(cx)
    }
}
