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
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use tonic::body::Body;
use tonic::{GrpcMethod, Status};

/// A request to give again, kept without allocating where it is as small as generated clients make
/// it. It is filled where it stands: moved, its room for headers would cost every call.
pub(crate) struct Again {
    uri: Uri,
    headers: [Option<(HeaderName, HeaderValue)>; INLINE],
    /// All of them, where there are more.
    spilled: Option<HeaderMap>,
    method: Option<GrpcMethod<'static>>,
    /// All of them, where some are foreign.
    extensions: Option<Extensions>,
    /// `None` until something is kept.
    payload: Option<Payload>,
}

impl Again {
    /// Nothing is kept yet.
    pub(crate) fn nothing() -> Self {
        Self {
            uri: Uri::default(),
            headers: [const { None }; INLINE],
            spilled: None,
            method: None,
            extensions: None,
            payload: None,
        }
    }

    /// Keeps the head of `request`, and this as its body.
    pub(crate) fn keep(&mut self, request: &Request<Body>, payload: Payload) {
        let (headers, extensions) = (request.headers(), request.extensions());
        if headers.len() <= INLINE {
            for (place, (name, value)) in self.headers.iter_mut().zip(headers) {
                *place = Some((name.clone(), value.clone()));
            }
        } else {
            self.spilled = Some(headers.clone());
        }
        self.method = extensions.get().cloned();
        if extensions.len() > usize::from(self.method.is_some()) {
            self.extensions = Some(extensions.clone());
        }
        self.uri = request.uri().clone();
        self.payload = Some(payload);
    }

    /// Its body, if one is kept.
    pub(crate) const fn payload(&self) -> Option<&Payload> {
        self.payload.as_ref()
    }

    /// The request of one more attempt. The machine asks for none where there is none to give.
    pub(crate) fn request(&self) -> Request<Body> {
        let mut request = Request::new(self.payload().map_or_else(Body::empty, Payload::give));
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = match &self.spilled {
            Some(headers) => headers.clone(),
            None => self.headers.iter().flatten().cloned().collect(),
        };
        match &self.extensions {
            Some(extensions) => *request.extensions_mut() = extensions.clone(),
            None => _ = self.method.clone().map(|method| request.extensions_mut().insert(method)),
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
            Self::Message(Some(message)) => {
                // Boxed here, because tonic would put a layer around it that only looks at errors.
                Body::new(UnsyncBoxBody::new(OneMessage(Some(message.clone()))))
            }
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

    use super::{Again, Payload};
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
        assert!(<Again as CannotBePrinted<_>>::HOLDS);
        assert!(<Payload as CannotBePrinted<_>>::HOLDS);
        assert!(<Reading as CannotBePrinted<_>>::HOLDS);
        assert!(<Held as CannotBePrinted<_>>::HOLDS);
        assert!(<Flow<()> as CannotBePrinted<_>>::HOLDS);
    };
}
