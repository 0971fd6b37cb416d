//! This file knows a service without a network: what a client calls when the wire does not matter.
//!
//! It is for what a wire makes hard: counting allocations of the code above it, and dropping a
//! call at each of its polls. It does not know the transport errors of tonic: a broken stream is a
//! bare `h2` or `io` error, which tonic maps to the same codes but which says nothing of who broke
//! it. Where that matters, use a [`Peer`](crate::Peer).

use crate::script::{Last, Log, Reply, Seen, Step};
use bytes::Bytes;
use core::future::{Future, pending};
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use h2::Reason;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use std::io;
use std::sync::Arc;
use tonic::body::Body;
use tower::{BoxError, Service};

/// A scripted service in place of a `tonic::transport::Channel`. A clone is the same stub.
///
/// An early reply drops the request's body unread; nothing after the end of a reply has a meaning.
///
/// ```
/// use evenkeel_tests::{RawClient, Reply, Stub};
/// use tonic::{Code, Status};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let stub = Stub::new([Reply::status(Status::unavailable("busy")), Reply::ok("pong")]);
/// let mut client = RawClient::new(stub.clone());
/// assert_eq!(client.unary("ping").await.unwrap_err().code(), Code::Unavailable);
/// assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
/// assert_eq!(stub.count(), 2);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Stub {
    log: Arc<Log>,
    count: Arc<AtomicUsize>,
    records: bool,
    lazy: bool,
}

impl Stub {
    /// One that gives these replies in the order of the calls, the last one for ever.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(Log::new(replies), true)
    }

    /// One that asks `rule` for each reply; it sees the headers, the body is still to come.
    pub fn answering(rule: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        Self::with(Log::ruled(rule), true)
    }

    /// One that always gives `reply` and keeps nothing of a request but that it came: each call
    /// costs the same, so that what is above it can be measured.
    pub fn canned(reply: Reply) -> Self {
        Self::with(Log::new([reply]), false)
    }

    fn with(log: Log, records: bool) -> Self {
        Self { log: Arc::new(log), count: Arc::default(), records, lazy: false }
    }

    /// Is not ready at once for anything: before each step of a reply it is pending for one poll.
    ///
    /// With it a caller that is dropped at its n-th poll is dropped at every place where it waits.
    pub fn lazy(mut self) -> Self {
        self.lazy = true;
        self
    }

    /// Every request so far, in the order of the calls; none with [`canned`](Self::canned).
    pub fn requests(&self) -> Vec<Seen> {
        self.log.requests()
    }

    /// How many requests came.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Takes the request down and finds its reply.
    fn open(&self, parts: &http::request::Parts) -> Performance {
        self.count.fetch_add(1, Ordering::Relaxed);
        let (index, reply) = if self.records {
            let (index, reply) = self.log.open(parts, 0);
            (Some(index), reply)
        } else {
            (None, self.log.unseen())
        };
        let log = Arc::clone(&self.log);
        Performance { log, index, reply, begun: 0, lazy: self.lazy, over: false }
    }
}

impl Service<Request<Body>> for Stub {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (parts, body) = request.into_parts();
        Box::pin(self.open(&parts).answer(body))
    }
}

/// A reply that is being given. Dropped before its end, it writes down that the caller went away.
struct Performance {
    log: Arc<Log>,
    /// Which request it answers, if those are recorded.
    index: Option<usize>,
    reply: Arc<Reply>,
    /// How many steps have been begun.
    begun: usize,
    lazy: bool,
    over: bool,
}

/// What the caller gets of a reply.
enum Part {
    Head(Response<()>),
    Frame(Frame<Bytes>),
}

impl Performance {
    async fn answer(mut self, request: Body) -> Result<Response<Body>, BoxError> {
        if !self.reply.is_early() {
            self.read(request).await?;
        }
        let Some(Part::Head(head)) = self.next().await.transpose()? else {
            // Not to be had: the builder of replies puts headers before everything else.
            return pending().await;
        };
        if self.over {
            return Ok(head.map(|()| Body::empty()));
        }
        let frames = futures_util::stream::unfold(self, |mut rest| async move {
            let frame = match rest.next().await? {
                Ok(Part::Frame(frame)) => Ok(frame),
                Ok(Part::Head(_)) => return None,
                Err(error) => Err(error),
            };
            Some((frame, rest))
        });
        Ok(head.map(|()| Body::new(StreamBody::new(frames))))
    }

    async fn read(&self, mut request: Body) -> Result<(), BoxError> {
        while let Some(frame) = request.frame().await {
            if let (Some(index), Some(data)) = (self.index, frame?.data_ref()) {
                self.log.body(index, data);
            }
        }
        if let Some(index) = self.index {
            self.log.ended(index);
        }
        Ok(())
    }

    /// What comes next; nothing after the end.
    async fn next(&mut self) -> Option<Result<Part, BoxError>> {
        while !self.over {
            if self.lazy {
                tokio::task::yield_now().await;
            }
            let Some(step) = self.reply.steps().get(self.begun).cloned() else {
                return pending().await;
            };
            self.begun += 1;
            self.over = step.ends_the_stream();
            let part = self.step(step).await;
            if part.is_some() {
                self.over |= matches!(part, Some(Err(_)));
                return part;
            }
        }
        None
    }

    async fn step(&self, step: Step) -> Option<Result<Part, BoxError>> {
        match step {
            Step::Head(head) => Some(Ok(Part::Head(head.response()))),
            Step::Data(data) => Some(Ok(Part::Frame(Frame::data(data)))),
            Step::Trailers(trailers) => Some(Ok(Part::Frame(Frame::trailers(trailers)))),
            Step::Wait(span) => {
                tokio::time::sleep(span).await;
                None
            }
            Step::Execute(hook) => {
                let seen = self.index.map(|index| self.log.request(index));
                (hook.0)(&seen.unwrap_or_default());
                None
            }
            Step::GoAway(Last::This, _) | Step::End => None,
            Step::GoAway(Last::Before, reason) | Step::Reset(reason) => {
                Some(Err(h2::Error::from(reason).into()))
            }
            Step::Flood(_) => Some(Err(h2::Error::from(Reason::ENHANCE_YOUR_CALM).into())),
            Step::Abort => Some(Err(io::Error::from(io::ErrorKind::ConnectionReset).into())),
            Step::Close => Some(Err(io::Error::from(io::ErrorKind::BrokenPipe).into())),
        }
    }
}

impl Drop for Performance {
    fn drop(&mut self) {
        if let (false, Some(index)) = (self.over, self.index) {
            self.log.reset(index, Reason::CANCEL);
        }
    }
}
