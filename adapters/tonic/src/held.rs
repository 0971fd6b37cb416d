//! This file knows a response that is held back until its status is known, and given on whole.
//!
//! Why hold it? A server may fail after the headers, or even after the message; what the caller
//! has not seen can still be retried. Nothing waits longer for it: tonic's own unary calls wait for
//! the trailers anyway.

use core::mem::take;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::collections::VecDeque;

use bytes::Bytes;
use evenkeel_tokio::core::Code;
use http::{HeaderMap, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use tonic::Status;
use tonic::body::Body;

use crate::below::Turns;
use crate::messages::LONGEST;
use crate::wire::{self, status};

/// A response and what has been read of its body. It is put in its place empty and stays there: a
/// head is large, and each move of it costs every call.
#[derive(Default)]
pub(crate) struct Held {
    /// With what was not read yet.
    response: Response<Body>,
    frames: Frames,
    turns: Turns,
}

/// What became of reading on.
pub(crate) enum Reached {
    /// It has all come.
    End,
    /// It is longer than is held, and given on as it comes.
    Limit,
}

impl Held {
    /// Nothing of this one has been read yet.
    #[inline(always)]
    pub(crate) fn of(response: Response<Body>) -> Self {
        Self { response, frames: Frames::default(), turns: Turns::default() }
    }

    /// One that has no body, but these trailers.
    pub(crate) fn ended(trailers: Option<HeaderMap>) -> Self {
        let mut held = Self::default();
        held.frames.end(trailers);
        held
    }

    /// Reads on to the end, or as far as is held.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reached, Status>> {
        loop {
            let frame = ready!(self.turns.poll_frame(self.response.body_mut(), cx));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => {
                    self.frames.push(data);
                    if self.frames.is_full() {
                        return Poll::Ready(Ok(Reached::Limit));
                    }
                }
                Some(Ok(Err(frame))) => {
                    self.frames.end(frame.into_trailers().ok());
                    break;
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => break,
            }
        }
        // It has ended, and is not asked again, however often its reader asks.
        *self.response.body_mut() = Body::empty();
        Poll::Ready(Ok(Reached::End))
    }

    pub(crate) const fn head(&self) -> &Response<Body> {
        &self.response
    }

    /// Those that came behind the body.
    pub(crate) const fn trailers(&self) -> Option<&HeaderMap> {
        self.frames.trailers.as_ref()
    }

    /// What tells how it ended: the trailers or, where it ended in its headers, these.
    pub(crate) fn last(&self) -> &HeaderMap {
        self.trailers().unwrap_or_else(|| self.response.headers())
    }

    /// The same, to be given on.
    pub(crate) fn into_last(self) -> HeaderMap {
        self.frames.trailers.unwrap_or_else(|| self.response.into_parts().0.headers)
    }

    /// The status it carries, or one that says what is missing. It ended in `code`.
    pub(crate) fn status(&self, code: Code) -> Status {
        Status::from_header_map(self.last()).unwrap_or_else(|| {
            let http = self.response.status();
            let message = if http == StatusCode::OK {
                "the response ended without a status".to_owned()
            } else {
                format!("the server answered HTTP {http} without a status")
            };
            Status::new(status::to_tonic(code), message)
        })
    }

    /// Gives the response on: what was held, and what is left of its body as it comes.
    pub(crate) fn give_on(&mut self) -> Response<Body> {
        let (frames, rest) = (take(&mut self.frames), take(self.response.body_mut()));
        // Boxed here, because tonic would put a layer around it that only looks at errors.
        *self.response.body_mut() = Body::new(UnsyncBoxBody::new(Release { frames, rest }));
        take(&mut self.response)
    }
}

/// The frames of a response body; the first inline, because a unary response rarely has more.
#[derive(Default)]
struct Frames {
    first: Option<Bytes>,
    rest: Option<VecDeque<Bytes>>,
    trailers: Option<HeaderMap>,
    bytes: usize,
}

impl Frames {
    fn push(&mut self, data: Bytes) {
        if data.is_empty() {
            return;
        }
        self.bytes = self.bytes.saturating_add(data.len());
        if self.first.is_none() && self.rest.is_none() {
            self.first = Some(data);
        } else {
            self.rest.get_or_insert_default().push_back(data);
        }
    }

    fn end(&mut self, trailers: Option<HeaderMap>) {
        self.trailers = trailers;
        if let Some(trailers) = &mut self.trailers {
            wire::defuse(trailers);
        }
    }

    /// Whether holding on would keep more than a decoder accepts by default, or in more pieces
    /// than an honest server sends it in.
    fn is_full(&self) -> bool {
        let frames = self.rest.as_ref().map_or(0, VecDeque::len);
        self.bytes > LONGEST || frames >= MANY_FRAMES
    }

    fn pop(&mut self) -> Option<Frame<Bytes>> {
        let next = || self.rest.as_mut().and_then(VecDeque::pop_front);
        let data = self.first.take().or_else(next).map(Frame::data);
        data.or_else(|| self.trailers.take().map(Frame::trailers))
    }
}

struct Release {
    frames: Frames,
    rest: Body,
}

impl http_body::Body for Release {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(frame) = self.frames.pop() {
            return Poll::Ready(Some(Ok(frame)));
        }
        Pin::new(&mut self.rest).poll_frame(cx)
    }
}

/// Each frame costs some dozens of bytes besides its own, so bytes alone would be no bound. With
/// this many the longest message comes in frames of 512 bytes; HTTP/2's are 16 KiB.
const MANY_FRAMES: usize = 8 * 1024;
