//! This file knows how a request is given again.
//!
//! A message is one frame: polled once, kept as one reference-counted `Bytes`, and given anew to
//! each attempt. A stream is never read ahead: it is *lent* to an attempt, and can be lent again
//! only while nobody has polled it. An attempt that was given up may still be held by the
//! transport's send task, so each loan has a number, and a superseded one answers an error.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use evenkeel_tokio::core::Deadline;
use evenkeel_tokio::{SleepUntil, sleep_until};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use http_body::{Body as _, Frame};
use tonic::body::Body;
use tonic::{GrpcMethod, Status};

use crate::messages::PREFIX;

/// The head of a request, kept without allocating where it is as small as generated clients make
/// it.
#[derive(Debug)]
pub(crate) struct Head {
    uri: Uri,
    headers: Headers,
    extensions: Kept,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the large one is there to save an allocation")]
enum Headers {
    Inline([Option<(HeaderName, HeaderValue)>; INLINE]),
    Spilled(HeaderMap),
}

/// Foreign extensions are cloned only when there are any.
#[derive(Debug)]
enum Kept {
    All(Extensions),
    Method(Option<GrpcMethod<'static>>),
}

impl Head {
    pub(crate) fn of(parts: &Parts) -> Self {
        let headers = if parts.headers.len() <= INLINE {
            let mut inline = [const { None }; INLINE];
            for (place, (name, value)) in inline.iter_mut().zip(&parts.headers) {
                *place = Some((name.clone(), value.clone()));
            }
            Headers::Inline(inline)
        } else {
            Headers::Spilled(parts.headers.clone())
        };
        let method = parts.extensions.get::<GrpcMethod<'static>>();
        let foreign = parts.extensions.len() > usize::from(method.is_some());
        let extensions = if foreign {
            Kept::All(parts.extensions.clone())
        } else {
            Kept::Method(method.cloned())
        };
        Self { uri: parts.uri.clone(), headers, extensions }
    }

    /// The head of one more attempt.
    pub(crate) fn request(&self, body: Body) -> Request<Body> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = match &self.headers {
            Headers::Spilled(headers) => headers.clone(),
            Headers::Inline(headers) => headers.iter().flatten().cloned().collect(),
        };
        match &self.extensions {
            Kept::All(extensions) => *request.extensions_mut() = extensions.clone(),
            Kept::Method(Some(method)) => {
                request.extensions_mut().insert(method.clone());
            }
            Kept::Method(None) => {}
        }
        request
    }
}

/// The body of a request, as far as it can be given again.
#[derive(Debug)]
pub(crate) enum Payload {
    /// One message, or none.
    Message(Option<Bytes>),
    /// A stream that nobody has read from yet.
    Stream(Arc<Mutex<Lent>>),
}

impl Payload {
    /// A stream, to be lent.
    pub(crate) fn stream(body: Body) -> Self {
        Self::Stream(Arc::new(Mutex::new(Lent { body, loan: 0, polled: false })))
    }

    /// The body of one more attempt.
    pub(crate) fn give(&self) -> Body {
        match self {
            Self::Message(None) => Body::empty(),
            Self::Message(Some(message)) => Body::new(OneMessage(Some(message.clone()))),
            Self::Stream(lent) => {
                let mut held = lock(lent);
                held.loan += 1;
                Body::new(Loan { number: held.loan, lent: Arc::clone(lent) })
            }
        }
    }

    /// Whether it can be given once more. A stream that can is taken back at once: whoever still
    /// holds the body of a lost attempt might read from it before it is lent again, and what was
    /// read there would be missing from the next attempt.
    pub(crate) fn take_back(&self) -> bool {
        let Self::Stream(lent) = self else { return true };
        let mut held = lock(lent);
        if !held.polled {
            held.loan += 1;
        }
        !held.polled
    }
}

/// What reading ahead in a request body found.
#[derive(Debug)]
pub(crate) enum Read {
    /// The body failed. Nothing was sent, and it says nothing about the server.
    Failed(Status),
    /// A single message, or none: it can be given again.
    Message(Option<Bytes>),
    /// Not a single ready message within the limit. What was read is put in front again.
    Other(Body, Ahead),
}

/// How much of an unfinished body has been taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ahead {
    /// None of it: it can be lent.
    Nothing,
    /// Some: it can be sent once.
    Something,
}

/// Whether a body that is not ready is waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Patience {
    /// It is one message for certain: wait for it.
    Message,
    /// It may be a stream: take only what is there.
    Unknown,
}

/// Reads one message.
#[derive(Debug)]
pub(crate) struct Reading {
    body: Body,
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
    pub(crate) const fn new(
        body: Body,
        limit: usize,
        patience: Patience,
        deadline: Deadline,
    ) -> Self {
        let limit = limit.saturating_add(PREFIX);
        Self { body, first: None, limit, patience, deadline, timer: None }
    }

    /// Ready at once for every message a generated client sends. At the deadline it is not looked
    /// at any more: whoever asks for leave to send it is told that it is too late.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        loop {
            let frame = match (Pin::new(&mut self.body).poll_frame(cx), self.patience) {
                (Poll::Pending, Patience::Message) => {
                    ready!(self.poll_deadline(cx));
                    return Poll::Ready(self.other(None));
                }
                (Poll::Pending, Patience::Unknown) => return Poll::Ready(self.other(None)),
                (Poll::Ready(None), _) => return Poll::Ready(Read::Message(self.first.take())),
                (Poll::Ready(Some(frame)), _) => frame,
            };
            match frame.map(Frame::into_data) {
                Ok(Ok(message)) if self.first.is_none() && message.len() <= self.limit => {
                    self.first = Some(message);
                }
                // Too long, a second message, or trailers: the transport's to see, as it would
                // have without us.
                Ok(Ok(message)) => return Poll::Ready(self.other(Some(Frame::data(message)))),
                Ok(Err(trailers)) => return Poll::Ready(self.other(Some(trailers))),
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

    fn other(&mut self, last: Option<Frame<Bytes>>) -> Read {
        let rest = core::mem::take(&mut self.body);
        let first = self.first.take().map(Frame::data);
        if first.is_none() && last.is_none() {
            return Read::Other(rest, Ahead::Nothing);
        }
        Read::Other(Body::new(Front { frames: [first, last], rest }), Ahead::Something)
    }
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

/// One message that says it is the last, so that HEADERS and one DATA frame carry the request.
/// It gives no exact size: hyper would add a `content-length`.
struct OneMessage(Option<Bytes>);

impl http_body::Body for OneMessage {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(self.0.take().map(|message| Ok(Frame::data(message))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }
}

/// A stream and who may read it.
#[derive(Debug)]
pub(crate) struct Lent {
    body: Body,
    loan: u64,
    polled: bool,
}

/// The stream as one attempt holds it.
struct Loan {
    number: u64,
    lent: Arc<Mutex<Lent>>,
}

impl http_body::Body for Loan {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut lent = lock(&self.lent);
        if lent.loan != self.number {
            let superseded = Status::cancelled("this attempt was superseded by another");
            return Poll::Ready(Some(Err(superseded)));
        }
        lent.polled = true;
        Pin::new(&mut lent.body).poll_frame(cx)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Generated clients send four headers of their own; the rest is room for the caller's metadata.
const INLINE: usize = 8;
