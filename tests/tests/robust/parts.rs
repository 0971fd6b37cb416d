//! What the tests are put together from, where neither a peer nor a stub will do: services and
//! bodies by hand, and a service that knows what is left of it.

use bytes::{BufMut, Bytes, BytesMut};
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use http::{HeaderMap, Request, Response};
use http_body::{Frame, SizeHint};
use http_body_util::StreamBody;
use std::sync::Arc;
use tonic::Status;
use tonic::body::Body;
use tower::{BoxError, Service};

/// What a service by hand answers.
pub(crate) type Answer = Result<Response<Body>, BoxError>;

/// A service that answers its calls, counted from 0, with what `answer` makes of them.
pub(crate) fn service<F, R>(
    answer: F,
) -> impl Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send>
+ Clone
+ Send
+ 'static
where
    F: Fn(usize, Request<Body>) -> R + Clone + Send + 'static,
    R: Future<Output = Answer> + Send + 'static,
{
    let calls = Arc::new(AtomicUsize::new(0));
    tower::service_fn(move |request| answer(calls.fetch_add(1, Ordering::Relaxed), request))
}

/// The headers of an answer, and these frames.
pub(crate) fn answer(frames: impl IntoIterator<Item = Result<Frame<Bytes>, BoxError>>) -> Answer {
    Ok(Response::new(body(frames.into_iter().collect::<Vec<_>>())))
}

/// A status in the headers, and nothing else.
pub(crate) fn refusal(status: Status) -> Answer {
    Ok(status.into_http())
}

/// A body of these frames.
pub(crate) fn body(frames: Vec<Result<Frame<Bytes>, BoxError>>) -> Body {
    // Of futures, because that of tokio is pending now and then.
    Body::new(StreamBody::new(futures_util::stream::iter(frames)))
}

/// A frame of data.
pub(crate) fn data(bytes: impl Into<Bytes>) -> Result<Frame<Bytes>, BoxError> {
    Ok(Frame::data(bytes.into()))
}

/// Trailers with this status.
pub(crate) fn trailers(status: &Status) -> Result<Frame<Bytes>, BoxError> {
    let mut trailers = HeaderMap::new();
    status.add_header(&mut trailers).unwrap();
    Ok(Frame::trailers(trailers))
}

/// A message with its prefix.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len().try_into().unwrap());
    framed.put_slice(message);
    framed.freeze()
}

/// A message of `length` bytes that is unlike itself moved.
pub(crate) fn message(length: usize) -> Bytes {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// Counts those who are inside something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl Gauge {
    /// Counts one more, until what is returned is dropped.
    pub(crate) fn enter(&self) -> Inside {
        let now = self.0.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.peak.fetch_max(now, Ordering::SeqCst);
        Inside(self.clone())
    }

    /// How many there were at most.
    pub(crate) fn peak(&self) -> usize {
        self.0.peak.load(Ordering::SeqCst)
    }
}

/// One that a [`Gauge`] counts.
#[derive(Debug)]
pub(crate) struct Inside(Gauge);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A service that knows how much of it is alive: its clones, its calls, the bodies of its answers.
#[derive(Clone)]
pub(crate) struct Alive<S> {
    inner: S,
    token: Arc<()>,
}

impl<S> Alive<S> {
    /// Around `inner`, and the token that is cloned into everything.
    pub(crate) fn new(inner: S) -> (Self, Arc<()>) {
        let token = Arc::new(());
        (Self { inner, token: Arc::clone(&token) }, token)
    }
}

impl<S> Service<Request<Body>> for Alive<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Future: Send + 'static>,
{
    type Response = Response<Held>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Held>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (call, token) = (self.inner.call(request), Arc::clone(&self.token));
        Box::pin(async move { Ok(call.await?.map(|body| Held { body, _token: token })) })
    }
}

/// The body of an answer of [`Alive`].
pub(crate) struct Held {
    body: Body,
    _token: Arc<()>,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
