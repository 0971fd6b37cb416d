//! This file knows how a request's message is read before its first attempt, so that it can be
//! given to others.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_tokio::core::Deadline;
use evenkeel_tokio::{SleepUntil, sleep_until};
use http_body::{Body as _, Frame};
use tonic::Status;
use tonic::body::Body;

use crate::messages::{PREFIX, is_one};

/// Reads one message.
pub(crate) struct Reading {
    first: Option<Bytes>,
    /// In bytes, prefix included.
    limit: usize,
    patience: Patience,
    deadline: Deadline,
    /// Made when the message has to be waited for.
    timer: Option<Pin<Box<SleepUntil>>>,
}

impl Reading {
    /// Of a message with up to `limit` bytes, waited for until `deadline`.
    pub(crate) const fn new(limit: usize, patience: Patience, deadline: Deadline) -> Self {
        let limit = limit.saturating_add(PREFIX);
        Self { first: None, limit, patience, deadline, timer: None }
    }

    /// Reads it out of `body`. Ready at once for every message a generated client sends. At the deadline it is not looked
    /// at any more: whoever asks for leave to send it is told that it is too late.
    pub(crate) fn poll(&mut self, body: &mut Body, cx: &mut Context<'_>) -> Poll<Read> {
        loop {
            let frame = match (Pin::new(&mut *body).poll_frame(cx), self.patience) {
                (Poll::Pending, Patience::Message) => {
                    ready!(self.poll_deadline(cx));
                    return Poll::Ready(self.other(body, None));
                }
                (Poll::Pending, Patience::Unknown) => return Poll::Ready(self.other(body, None)),
                // tonic puts all messages that are ready into one frame.
                (Poll::Ready(None), _) if self.first.as_deref().is_none_or(is_one) => {
                    return Poll::Ready(Read::Message(self.first.take()));
                }
                (Poll::Ready(None), _) => return Poll::Ready(self.other(body, None)),
                (Poll::Ready(Some(frame)), _) => frame,
            };
            match frame.map(Frame::into_data) {
                Ok(Ok(message)) if self.first.is_none() && message.len() <= self.limit => {
                    self.first = Some(message);
                }
                // Too long, a second message, or trailers: the transport's to see, as it would
                // have without us.
                Ok(Ok(message)) => {
                    return Poll::Ready(self.other(body, Some(Frame::data(message))));
                }
                Ok(Err(trailers)) => return Poll::Ready(self.other(body, Some(trailers))),
                Err(status) => return Poll::Ready(Read::Failed(status)),
            }
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.deadline.is_none() {
            return Poll::Pending;
        }
        let at = self.deadline.instant();
        self.timer.get_or_insert_with(|| Box::pin(sleep_until(at))).as_mut().poll(cx)
    }

    fn other(&mut self, body: &mut Body, last: Option<Frame<Bytes>>) -> Read {
        let rest = core::mem::take(body);
        let first = self.first.take().map(Frame::data);
        if first.is_none() && last.is_none() {
            return Read::Other(rest);
        }
        Read::Other(Body::new(Front { frames: [first, last], rest }))
    }
}

/// What reading ahead in a request body found.
pub(crate) enum Read {
    /// The body failed. Nothing was sent, and it says nothing about the server.
    Failed(Status),
    /// A single message, or none: it can be given again.
    Message(Option<Bytes>),
    /// Not a single ready message within the limit. What was read is put in front again, so that
    /// it can be lent as if nobody had.
    Other(Body),
}

/// Whether a body that is not ready is waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Patience {
    /// It is one message for certain: wait for it.
    Message,
    /// It may be a stream: take only what is there.
    Unknown,
}

/// A few frames in front of a body.
struct Front {
    frames: [Option<Frame<Bytes>>; 2],
    rest: Body,
}

impl http_body::Body for Front {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.frames.iter_mut().find_map(Option::take) {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }
}
