//! This file knows a connection: the inner connector's, which also tells when the server's first
//! bytes came, when it is gone, and why; before it is used as well.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{IoSlice, Result};
use std::sync::Arc;

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};

use super::link::Link;
use super::lost::Lost;
use super::schedule::Serial;
use crate::observe::Subchannel;

/// A connection made by a [`Connector`](super::Connector). Dropping it tells the target's
/// [`Connectivity`](super::Connectivity) that it is gone.
pub struct Connection<Io> {
    io: Io,
    heard: bool,
    /// What came before anybody read from it.
    early: Vec<u8>,
    serial: Serial,
    link: Arc<Link>,
    counts: Option<Arc<Subchannel>>,
    /// The first that was seen of its end.
    lost: Option<Lost>,
}

impl<Io> Connection<Io> {
    pub(super) const fn new(
        io: Io,
        serial: Serial,
        link: Arc<Link>,
        counts: Option<Arc<Subchannel>>,
    ) -> Self {
        Self { io, heard: false, early: Vec::new(), serial, link, counts, lost: None }
    }

    /// Closes it, because nobody came for it.
    pub(super) fn unwanted(mut self) {
        self.lost = Some(Lost::Shutdown);
        self.link.step(|schedule, _| schedule.unwanted(self.serial));
    }

    /// What was read or written, and a note of what it says if that failed.
    fn noted<T>(&mut self, done: Poll<Result<T>>) -> Poll<Result<T>> {
        if let Poll::Ready(Err(error)) = &done {
            self.lost.get_or_insert_with(|| Lost::of(error));
        }
        done
    }

    /// Something came from the server.
    fn hear(&mut self) {
        if !self.heard {
            self.heard = true;
            self.link.step(|schedule, _| schedule.heard(self.serial));
        }
    }

    pub(super) const fn serial(&self) -> Serial {
        self.serial
    }
}

impl<Io: Read + Unpin> Connection<Io> {
    /// Ready once it has ended, as long as nobody uses it. Its end is known to who reads only, so
    /// it is read from, and what the server says unasked is kept for who comes.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.early.len() < EARLY_MOST {
            let mut bytes = [0; FIRST_READ];
            let mut bytes = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut self.io).poll_read(cx, bytes.unfilled());
            if ready!(self.noted(read)).is_err() || bytes.filled().is_empty() {
                return Poll::Ready(());
            }
            self.early.extend_from_slice(bytes.filled());
            self.hear();
        }
        // No HTTP/2 server says that much unasked. Whoever comes will find out what it is.
        Poll::Pending
    }
}

impl<Io> Drop for Connection<Io> {
    fn drop(&mut self) {
        self.link.step(|schedule, now| schedule.lost(now, self.serial));
        if let Some(counts) = &self.counts {
            let silent = if self.link.is_let_go() { Lost::Shutdown } else { Lost::Unknown };
            counts.lost(self.lost.unwrap_or(silent));
        }
    }
}

impl<Io> fmt::Debug for Connection<Io> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("heard", &self.heard).finish_non_exhaustive()
    }
}

impl<Io: Read + Unpin> Read for Connection<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        if !self.early.is_empty() {
            let next = buf.remaining().min(self.early.len());
            buf.put_slice(&self.early[..next]);
            self.early.drain(..next);
            return Poll::Ready(Ok(()));
        }
        if self.heard {
            let read = Pin::new(&mut self.io).poll_read(cx, buf);
            return self.noted(read);
        }
        // A cursor that was handed on does not tell whether anything was read or the end has come.
        // So the very first bytes take a detour through a buffer that does.
        let mut first = [0; FIRST_READ];
        let room = buf.remaining().min(first.len());
        let mut first = ReadBuf::new(&mut first[..room]);
        let read = Pin::new(&mut self.io).poll_read(cx, first.unfilled());
        ready!(self.noted(read))?;
        if !first.filled().is_empty() {
            buf.put_slice(first.filled());
            self.hear();
        }
        Poll::Ready(Ok(()))
    }
}

impl<Io: Write + Unpin> Write for Connection<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.noted(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.noted(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.noted(written)
    }
}

/// A server's HTTP/2 SETTINGS and more.
const FIRST_READ: usize = 256;

/// As long as a frame of HTTP/2 may be that nobody has agreed to.
const EARLY_MOST: usize = 16 * 1024;
