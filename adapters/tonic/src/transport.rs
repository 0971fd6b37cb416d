//! This file knows what a failed transport means: which code is true, and how far the request got.
//!
//! Why not tonic's codes? They are right about a reset stream and wrong about a lost connection:
//! CANCELLED when it closed with the request still queued, UNKNOWN when it broke, INTERNAL when
//! the server sent GOAWAY. In a build without tonic's `server` feature nearly all are UNKNOWN.
//! Rules that read those codes miss outages and repeat what must not be repeated. The truth is in
//! the chain of sources, and that is all this file looks at, never at a message.
//!
//! Before changing it read "Errors" in gRPC's PROTOCOL-HTTP2, and look up in hyper and h2 where
//! the errors named here are made. They must be the same major versions tonic uses, or nothing
//! here recognizes them; `tests/transport` drives each case with real frames.

use core::error::Error;
use core::fmt;
use core::iter::successors;
use std::io;
use std::sync::Arc;

use evenkeel_core::{Code, CodeSet, Outcome, Sent};
use h2::Reason;
use tonic::{ConnectError, Status, TimeoutExpired};

use crate::wire::status;

type BoxError = Box<dyn Error + Send + Sync>;

/// What happened between us and the server, when it was not a status of the server's.
///
/// It is the [`source`](Error::source) of the status a caller gets, and the answer to the question
/// that status cannot answer: may this have been executed?
///
/// ```
/// use std::error::Error;
/// use std::io;
///
/// use evenkeel_core::{Code, Sent};
/// use evenkeel_tonic::TransportError;
/// use tonic::{ConnectError, Status};
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// let error = TransportError::before_headers(ConnectError(refused.into()));
/// assert_eq!((error.code(), error.sent()), (Code::Unavailable, Sent::NotConnected));
///
/// let status = Status::from(error);
/// let source = status.source().and_then(|source| source.downcast_ref::<TransportError>());
/// assert!(source.is_some_and(|error| error.sent().nothing_executed()));
/// ```
pub struct TransportError {
    code: Code,
    sent: Sent,
    /// Shared with what is known of the same connection.
    pub(crate) source: Arc<dyn Error + Send + Sync>,
}

impl TransportError {
    /// Reads an error that came instead of response headers, out of the future of a channel's
    /// `call`.
    ///
    /// Any error is welcome. One that says nothing about a transport is `UNKNOWN` and
    /// [`Sent::Maybe`]; a [`Status`] that says nothing about one keeps its code.
    pub fn before_headers(source: impl Into<BoxError>) -> Self {
        let source: Arc<dyn Error + Send + Sync> = source.into().into();
        let (code, sent) = classify(&*source);
        Self { code, sent, source }
    }

    /// Reads an error that a channel's `poll_ready` gave: nothing was handed over, so nothing was
    /// executed. Another channel, or this one later, may do better.
    pub fn not_ready(source: impl Into<BoxError>) -> Self {
        let error = Self::before_headers(source);
        // Any other code is somebody's word.
        if error.sent != Sent::Maybe || !GUESSES.contains(error.code) {
            return error;
        }
        Self { code: Code::Unavailable, sent: Sent::NotConnected, ..error }
    }

    /// Reads an error that came out of a response body.
    ///
    /// Like [`before_headers`](Self::before_headers), but always [`Sent::Maybe`]: with its headers
    /// the server has shown that it looked at the request, whatever it says afterwards.
    pub fn in_body(source: impl Into<BoxError>) -> Self {
        Self { sent: Sent::Maybe, ..Self::before_headers(source) }
    }

    /// The code it deserves.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// How far the request got.
    pub const fn sent(&self) -> Sent {
        self.sent
    }

    /// Whether the server closed the connection because too much came on it; pings, if it is
    /// gRPC's. Whatever it was, less is right.
    pub(crate) fn asks_for_calm(&self) -> bool {
        let of_h2 = |error: &(dyn Error + 'static)| {
            error.downcast_ref::<h2::Error>().is_some_and(|error| {
                let calm = error.reason() == Some(Reason::ENHANCE_YOUR_CALM);
                error.is_go_away() && error.is_remote() && calm
            })
        };
        chain(&*self.source).any(of_h2)
    }

    /// What the rules are told of it.
    pub const fn outcome(&self) -> Outcome {
        Outcome::new(self.code).with_sent(self.sent)
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.sent {
            Sent::Maybe => "transport failed, the request may have been executed",
            Sent::Never => "connection was closing, the request was not sent",
            Sent::NotConnected => "no connection to the server",
            Sent::Refused => "server refused the request before looking at it",
        })
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// A status with the true code, a message that ends in the root cause, and the error as its source.
///
/// A status that was only passed through, because nothing in it speaks of a transport, comes out as
/// it went in.
impl From<TransportError> for Status {
    fn from(error: TransportError) -> Self {
        if let (None, Some(status)) = (evidence(&*error.source), word(&*error.source))
            && status::from_tonic(status.code()) == error.code
        {
            return status.clone();
        }
        let root = chain(&*error.source).last().map(ToString::to_string).unwrap_or_default();
        let mut status = Self::new(status::to_tonic(error.code), format!("{error}: {root}"));
        status.set_source(Arc::new(error));
        status
    }
}

/// The true code of an error that came instead of response headers, and how far the request got.
pub(crate) fn classify(error: &(dyn Error + 'static)) -> (Code, Sent) {
    evidence(error).unwrap_or_else(|| {
        let code = word(error).map_or(Code::Unknown, |status| status::from_tonic(status.code()));
        (code, Sent::Maybe)
    })
}

/// The status somebody put into the chain. OK is none: an error is no success, whatever it says.
fn word<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    let status: &Status = chain(error).find_map(<dyn Error>::downcast_ref)?;
    (status.code() != tonic::Code::Ok).then_some(status)
}

/// What the outermost error that knows something about a transport says.
///
/// Outermost, because what is below may be another transport's: a dial through an HTTP/2 proxy
/// that refused the stream is still a failed dial.
fn evidence(error: &(dyn Error + 'static)) -> Option<(Code, Sent)> {
    let mut in_channel = false;
    for error in chain(error) {
        if let Some(status) = error.downcast_ref::<Status>()
            && !GUESSES.contains(status::from_tonic(status.code()))
        {
            return None;
        }
        in_channel |= error.is::<tonic::transport::Error>();
        if let Some(io) = error.downcast_ref() {
            return of_io(io, in_channel);
        }
        if let found @ Some(_) = of_known(error) {
            return found;
        }
    }
    None
}

fn of_known(error: &(dyn Error + 'static)) -> Option<(Code, Sent)> {
    if let Some(known) = error.downcast_ref::<TransportError>() {
        return Some((known.code, known.sent));
    }
    // The second is a channel whose worker is gone: it answers for requests it never took.
    if error.is::<ConnectError>() || error.is::<tower::buffer::error::Closed>() {
        return Some((Code::Unavailable, Sent::NotConnected));
    }
    if error.is::<TimeoutExpired>() {
        return Some((Code::DeadlineExceeded, Sent::Maybe));
    }
    if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
        return Some(of_hyper(hyper));
    }
    error.downcast_ref::<h2::Error>().map(of_h2)
}

/// An I/O error without hyper's around it.
///
/// Once there is a connection, a channel has only hyper's errors, so in one it is a failed dial:
/// tonic's connect timeout, or the connector of `Channel::new`, which nobody wraps.
fn of_io(error: &io::Error, in_channel: bool) -> Option<(Code, Sent)> {
    use io::ErrorKind as Kind;
    match error.kind() {
        // Nothing but a dial can be answered like this.
        Kind::ConnectionRefused => Some((Code::Unavailable, Sent::NotConnected)),
        _ if in_channel => Some((Code::Unavailable, Sent::NotConnected)),
        Kind::BrokenPipe
        | Kind::ConnectionAborted
        | Kind::ConnectionReset
        | Kind::NotConnected
        | Kind::TimedOut
        | Kind::UnexpectedEof => Some((Code::Unavailable, Sent::Maybe)),
        _ => None,
    }
}

fn of_hyper(error: &hyper::Error) -> (Code, Sent) {
    // Only ever said of a request that is still in the queue before the connection.
    if error.is_canceled() {
        return (Code::Unavailable, Sent::Never);
    }
    // The rest is a connection that broke: I/O, a ping without an answer, a dispatch task that
    // ended with the request in its hands.
    let h2 = error.source().and_then(<dyn Error>::downcast_ref);
    h2.map_or((Code::Unavailable, Sent::Maybe), of_h2)
}

fn of_h2(error: &h2::Error) -> (Code, Sent) {
    // h2 says this only of streams above the last one the server took; it waits for the others.
    // hyper says it too of a request that a GOAWAY overtook between its headers and its message;
    // without a message there is nothing to execute.
    if error.is_go_away() && error.is_remote() {
        return (Code::Unavailable, Sent::Refused);
    }
    let code = match error.reason() {
        // Reset by this side itself, because the caller's request stream failed.
        Some(_) if error.is_reset() && !error.is_remote() && !error.is_library() => Code::Cancelled,
        None if error.is_io() => Code::Unavailable,
        None => Code::Unknown,
        Some(Reason::REFUSED_STREAM) if error.is_remote() => {
            return (Code::Unavailable, Sent::Refused);
        }
        Some(reason) => of_reason(reason),
    };
    (code, Sent::Maybe)
}

/// The table of PROTOCOL-HTTP2 for a reset stream.
fn of_reason(reason: Reason) -> Code {
    match reason {
        Reason::NO_ERROR
        | Reason::PROTOCOL_ERROR
        | Reason::INTERNAL_ERROR
        | Reason::FLOW_CONTROL_ERROR
        | Reason::SETTINGS_TIMEOUT
        | Reason::FRAME_SIZE_ERROR
        | Reason::COMPRESSION_ERROR
        | Reason::CONNECT_ERROR => Code::Internal,
        Reason::REFUSED_STREAM => Code::Unavailable,
        Reason::CANCEL => Code::Cancelled,
        Reason::ENHANCE_YOUR_CALM => Code::ResourceExhausted,
        Reason::INADEQUATE_SECURITY => Code::PermissionDenied,
        _ => Code::Unknown,
    }
}

/// The error and its sources, outermost first.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// The codes tonic guesses for a lost transport. A status with another one is somebody's word,
/// whatever they found worth keeping as its source.
const GUESSES: CodeSet = CodeSet::of(&[
    Code::Cancelled,
    Code::Internal,
    Code::ResourceExhausted,
    Code::Unavailable,
    Code::Unknown,
]);
