//! This file knows how a test says what is to be answered.

use crate::script::step::{Head, Hook};
use crate::script::{Last, Seen, Step};
use bytes::{BufMut, Bytes, BytesMut};
use core::time::Duration;
use h2::Reason;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::sync::Arc;
use tonic::Status;

/// What is answered to one request: a list of steps, said in the order they are done.
///
/// A reply that runs out of steps before its stream has ended says nothing more and keeps the
/// stream open: [`Reply::hang`] is the empty reply. Methods panic, in the test that wrote them,
/// when they say something after the end.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tests::{Last, Reason, Reply};
/// use tonic::Status;
///
/// // Every failure of a unary call that gRPC can express.
/// Reply::status(Status::unavailable("busy"));
/// Reply::headers().end(Status::unavailable("headers first"));
/// Reply::headers().message("half an answer").end(Status::internal("after the message"));
/// Reply::status(Status::unavailable("busy")).trailer("grpc-retry-pushback-ms", "120");
/// // And those it cannot.
/// Reply::hang().reset(Reason::REFUSED_STREAM);
/// Reply::hang().go_away(Last::Before, Reason::NO_ERROR);
/// Reply::headers().message("1").message("2").close();
/// Reply::http(503).after(Duration::from_secs(1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reply {
    steps: Vec<Step>,
    early: bool,
}

/// How a reply begins.
impl Reply {
    /// Reads the request and never answers, unless more is said.
    pub fn hang() -> Self {
        Self::default()
    }

    /// One message, then the status OK.
    pub fn ok(message: impl Into<Bytes>) -> Self {
        Self::headers().message(message).end(Status::ok(""))
    }

    /// A status in the headers and nothing else ("trailers-only"), with its details and metadata.
    ///
    /// This is how most servers fail a call before its first message.
    #[expect(clippy::needless_pass_by_value, reason = "a reply is written in one expression")]
    pub fn status(status: Status) -> Self {
        let mut headers = grpc_headers();
        write_status(&status, &mut headers);
        Self::default().head(StatusCode::OK, headers, true)
    }

    /// The headers of a gRPC answer, the stream still open.
    pub fn headers() -> Self {
        Self::default().head(StatusCode::OK, grpc_headers(), false)
    }

    /// An answer that is not gRPC: this HTTP status, no body, no `grpc-status`.
    ///
    /// # Panics
    /// On a number that is no HTTP status.
    pub fn http(status: u16) -> Self {
        let status = StatusCode::from_u16(status).expect("an HTTP status has three digits");
        Self::default().head(status, HeaderMap::new(), true)
    }
}

/// How it goes on.
impl Reply {
    /// One whole message.
    pub fn message(self, message: impl Into<Bytes>) -> Self {
        self.push(Step::Data(framed(&message.into())))
    }

    /// All of these messages.
    pub fn messages<M: Into<Bytes>>(self, messages: impl IntoIterator<Item = M>) -> Self {
        messages.into_iter().fold(self, Self::message)
    }

    /// The first half of a message, prefix included.
    pub fn half(self, message: impl Into<Bytes>) -> Self {
        let mut whole = framed(&message.into());
        whole.truncate(whole.len() / 2);
        self.push(Step::Data(whole))
    }

    /// Nothing for `span` of the tokio clock.
    pub fn wait(mut self, span: Duration) -> Self {
        self.steps.push(Step::Wait(span));
        self
    }

    /// Trailers with this status.
    #[expect(clippy::needless_pass_by_value, reason = "a reply is written in one expression")]
    pub fn end(self, status: Status) -> Self {
        let mut trailers = HeaderMap::new();
        write_status(&status, &mut trailers);
        self.push(Step::Trailers(trailers))
    }

    /// The end of the body without trailers, so without a status.
    pub fn end_without_status(self) -> Self {
        self.push(Step::End)
    }

    /// Resets the stream; what was said before is sent first.
    pub fn reset(self, reason: Reason) -> Self {
        self.push(Step::Reset(reason))
    }

    /// Sends a GOAWAY and leaves the connection open.
    pub fn go_away(mut self, last: Last, reason: Reason) -> Self {
        self.steps.push(Step::GoAway(last, reason));
        self
    }

    /// Begins a header block and continues it for `frames` frames of 16 KiB without an end.
    pub fn flood(mut self, frames: usize) -> Self {
        self.steps.push(Step::Flood(frames));
        self
    }

    /// Closes the connection (FIN); what was said before is sent first.
    pub fn close(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }

    /// Breaks the connection off (RST on TCP); what was said before is sent first, but on TCP a
    /// client may lose what it has not read yet.
    pub fn abort(mut self) -> Self {
        self.steps.push(Step::Abort);
        self
    }
}

/// What is changed about it as a whole.
impl Reply {
    /// Does all of it `span` later.
    pub fn after(mut self, span: Duration) -> Self {
        self.steps.insert(0, Step::Wait(span));
        self
    }

    /// Runs `hook` first: the request has taken effect, whatever the client is told of it.
    pub fn executing(mut self, hook: impl Fn(&Seen) + Send + Sync + 'static) -> Self {
        self.steps.insert(0, Step::Execute(Hook(Arc::new(hook))));
        self
    }

    /// Starts at the request's headers instead of waiting for the end of its body.
    pub fn early(mut self) -> Self {
        self.early = true;
        self
    }

    /// Adds this to the response headers.
    ///
    /// # Panics
    /// When there are none yet, or the name or value cannot be sent.
    pub fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        let head = self.steps.iter_mut().find_map(|step| match step {
            Step::Head(head) => Some(&mut head.headers),
            _ => None,
        });
        set(head.expect("a reply has headers before it can add to them"), name, value.as_ref());
        self
    }

    /// Adds this beside the status, in trailers or trailers-only headers, in place of what has
    /// the same name: `.trailer("grpc-status", "banana")`.
    ///
    /// # Panics
    /// When nothing has ended the stream yet, or the name or value cannot be sent.
    pub fn trailer(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        let block = self.steps.iter_mut().find_map(|step| match step {
            Step::Head(Head { headers, end: true, .. }) | Step::Trailers(headers) => Some(headers),
            _ => None,
        });
        set(block.expect("a reply has a status before it can add to it"), name, value.as_ref());
        self
    }

    /// Has this in the response headers so many times, beside what is there already. What is said
    /// again and again is an index of a byte or two on the wire, and grows when it is read.
    ///
    /// # Panics
    /// When there are none yet, or the name or value cannot be sent.
    pub fn headers_times(mut self, name: &'static str, value: &str, times: usize) -> Self {
        let head = self.steps.iter_mut().find_map(|step| match step {
            Step::Head(head) => Some(&mut head.headers),
            _ => None,
        });
        append(head.expect("a reply has headers before it can add to them"), name, value, times);
        self
    }

    /// The same beside the status, in trailers or trailers-only headers.
    ///
    /// # Panics
    /// When nothing has ended the stream yet, or the name or value cannot be sent.
    pub fn trailers_times(mut self, name: &'static str, value: &str, times: usize) -> Self {
        let block = self.steps.iter_mut().find_map(|step| match step {
            Step::Head(Head { headers, end: true, .. }) | Step::Trailers(headers) => Some(headers),
            _ => None,
        });
        append(block.expect("a reply has a status before it can add to it"), name, value, times);
        self
    }

    /// The steps, in order.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether the end of the request is not waited for.
    pub(crate) const fn is_early(&self) -> bool {
        self.early
    }

    fn head(self, status: StatusCode, headers: HeaderMap, end: bool) -> Self {
        self.push(Step::Head(Head { status, headers, end }))
    }

    fn push(mut self, step: Step) -> Self {
        let over = self.steps.iter().any(Step::ends_the_stream);
        assert!(!over, "the stream is over: {step:?} comes too late");
        let is_body = matches!(step, Step::Data(_) | Step::End | Step::Trailers(_));
        if is_body && !self.steps.iter().any(|step| matches!(step, Step::Head(_))) {
            self = self.head(StatusCode::OK, grpc_headers(), false);
        }
        self.steps.push(step);
        self
    }
}

/// A message with gRPC's prefix: not compressed, its length in four bytes.
fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).expect("a test message is shorter than 4 GiB");
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(message);
    framed.freeze()
}

fn grpc_headers() -> HeaderMap {
    let grpc = HeaderValue::from_static("application/grpc");
    HeaderMap::from_iter([(header::CONTENT_TYPE, grpc)])
}

fn write_status(status: &Status, block: &mut HeaderMap) {
    status.add_header(block).expect("a test's status can be sent");
}

fn append(block: &mut HeaderMap, name: &'static str, value: &str, times: usize) {
    let value = HeaderValue::from_str(value).expect("a header value is visible ASCII");
    for _ in 0..times {
        block.append(HeaderName::from_static(name), value.clone());
    }
}

fn set(block: &mut HeaderMap, name: &'static str, value: &[u8]) {
    let value = HeaderValue::from_bytes(value).expect("a header value is visible ASCII");
    block.insert(HeaderName::from_static(name), value);
}
