//! This file knows a response that is held back until its status is known, and given on whole.
//!
//! Why hold it? A server may fail after the headers, or even after the message; what the caller
//! has not seen can still be retried. Nothing waits longer for it: tonic's own unary calls wait for
//! the trailers anyway.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;

use crate::messages::LONGEST;

/// The frames of a response body; the first inline, because a unary response rarely has more.
#[derive(Default)]
pub(crate) struct Held {
    first: Option<Bytes>,
    rest: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
    bytes: usize,
}

impl Held {
    pub(crate) fn push(&mut self, data: Bytes) {
        if data.is_empty() {
            return;
        }
        self.bytes = self.bytes.saturating_add(data.len());
        if self.first.is_none() && self.rest.is_empty() {
            self.first = Some(data);
        } else {
            self.rest.push_back(data);
        }
    }

    pub(crate) fn end(&mut self, trailers: HeaderMap) {
        self.trailers = Some(trailers);
    }

    pub(crate) const fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    pub(crate) const fn take_trailers(&mut self) -> Option<HeaderMap> {
        self.trailers.take()
    }

    /// Whether holding on would keep more than a decoder accepts by default, or in more pieces
    /// than an honest server sends it in.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > LONGEST || self.rest.len() >= MANY_FRAMES
    }

    /// The whole body.
    pub(crate) fn into_body(self) -> Body {
        Body::new(Release { held: self, rest: None })
    }

    /// What was held, and then the rest as it comes.
    pub(crate) fn followed_by(self, rest: Body) -> Body {
        Body::new(Release { held: self, rest: Some(rest) })
    }

    fn pop(&mut self) -> Option<Frame<Bytes>> {
        let data = self.first.take().or_else(|| self.rest.pop_front()).map(Frame::data);
        data.or_else(|| self.trailers.take().map(Frame::trailers))
    }
}

struct Release {
    held: Held,
    rest: Option<Body>,
}

impl http_body::Body for Release {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(frame) = self.held.pop() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut self.rest {
            Some(rest) => Pin::new(rest).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }
}

/// Each frame costs some dozens of bytes besides its own, so bytes alone would be no bound. With
/// this many the longest message comes in frames of 512 bytes; HTTP/2's are 16 KiB.
const MANY_FRAMES: usize = 8 * 1024;
