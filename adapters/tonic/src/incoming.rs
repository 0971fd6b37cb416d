//! This file knows what a request says of itself before anything is made of it: its method, how long
//! its caller waits, and what it has of another call.

use evenkeel_tokio::core::{Deadline, Instant};
use http::Request;
use tonic::GrpcMethod;
use tonic::body::Body;

use crate::attempt::PREVIOUS_ATTEMPTS;
use crate::settings::Settings;
use crate::warn::{Warning, named};
use crate::wire;
use crate::wire::timeout::{self, Timeout};

/// The full name of the method. A client with an origin has a prefix in its path, which the
/// generated code's own name does not.
pub(crate) fn method_path(request: &Request<Body>) -> &str {
    let path = request.uri().path();
    let Some(method) = request.extensions().get::<GrpcMethod<'static>>() else { return path };
    if path.len() == method.service().len() + method.method().len() + 2 {
        return path;
    }
    let prefix = path.strip_suffix(method.method()).and_then(|rest| rest.strip_suffix('/'));
    let prefix = prefix.and_then(|rest| rest.strip_suffix(method.service()));
    let prefix = prefix.and_then(|rest| rest.strip_suffix('/'));
    // A layer above may have changed the path under the extension. The path is what is called.
    prefix.and_then(|prefix| path.strip_prefix(prefix)).unwrap_or(path)
}

/// Takes the caller's own timeout out of the request: each attempt gets what is left.
pub(crate) fn callers_deadline(
    now: Instant,
    request: &mut Request<Body>,
    settings: &Settings,
) -> Deadline {
    let timeout = timeout::read(request.headers());
    match timeout {
        Timeout::Absent => return Deadline::NONE,
        Timeout::Malformed | Timeout::Value(_) => {}
    }
    request.headers_mut().remove(timeout::GRPC_TIMEOUT);
    match timeout {
        Timeout::Value(timeout) => Deadline::at(now.after(timeout)),
        Timeout::Malformed if settings.warned.first(Warning::MalformedTimeout) => {
            tracing::warn!(
                target: "evenkeel",
                upstream = named(&settings.target),
                method = request.uri().path(),
                "a caller's grpc-timeout is not up to 8 digits and one of H, M, S, m, u, n: it is \
                 left out, and the call has the configured timeout alone",
            );
            Deadline::NONE
        }
        Timeout::Absent | Timeout::Malformed => Deadline::NONE,
    }
}

/// Takes out the count of attempts that a caller forwarded with its metadata: it is another call's.
pub(crate) fn forget_attempts(request: &mut Request<Body>) {
    if wire::find(request.headers(), &PREVIOUS_ATTEMPTS).is_some() {
        request.headers_mut().remove(PREVIOUS_ATTEMPTS);
    }
}
