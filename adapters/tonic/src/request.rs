//! This file knows how a request is given again.
//!
//! A message is one frame: read once, kept as one reference-counted `Bytes`, and given anew to
//! each attempt. What is longer, or a stream, is *lent* to an attempt, and can be lent again only
//! while no attempt has polled it. An attempt that was given up may still be held by the
//! transport's send task, so each loan has a number, and a superseded one answers an error.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use http_body::Frame;
use tonic::body::Body;
use tonic::{GrpcMethod, Status};

/// The head of a request, kept without allocating where it is as small as generated clients make
/// it.
pub(crate) struct Head {
    uri: Uri,
    headers: Headers,
    extensions: Kept,
}

#[expect(clippy::large_enum_variant, reason = "the large one is there to save an allocation")]
enum Headers {
    Inline([Option<(HeaderName, HeaderValue)>; INLINE]),
    Spilled(HeaderMap),
}

/// Foreign extensions are cloned only when there are any.
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
pub(crate) enum Payload {
    /// One message, or none.
    Message(Option<Bytes>),
    /// A stream, or a message that is not kept, of which no attempt has read yet.
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

#[cfg(test)]
mod tests {
    use core::fmt::Debug;

    use super::{Head, Payload};
    use crate::flow::Flow;
    use crate::held::Held;
    use crate::reading::Reading;

    /// Applies twice, so that the compiler cannot choose, to whatever can be printed.
    trait CannotBePrinted<Why> {
        const HOLDS: bool = true;
    }

    struct Printed;

    impl<T> CannotBePrinted<()> for T {}
    impl<T: Debug> CannotBePrinted<Printed> for T {}

    /// Metadata and messages are somebody's secrets: what holds them has no `Debug`, or this does
    /// not compile.
    const _: () = {
        assert!(<Head as CannotBePrinted<_>>::HOLDS);
        assert!(<Payload as CannotBePrinted<_>>::HOLDS);
        assert!(<Reading as CannotBePrinted<_>>::HOLDS);
        assert!(<Held as CannotBePrinted<_>>::HOLDS);
        assert!(<Flow<()> as CannotBePrinted<_>>::HOLDS);
    };
}
