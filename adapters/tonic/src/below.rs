//! This file knows what a call needs of the service below it, and how somebody else's code is polled:
//! it may panic, and may have more to give at once than others can wait for.

use core::mem::forget;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::panic::catch_unwind;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame};
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::attempt::Ended;
use crate::error::BoxError;

/// The service that attempts go to: a channel, or anything that is called like one.
pub(crate) trait Below:
    Service<Request<Body>, Response = Response<Self::Body>, Error: Into<BoxError>, Future: Send>
    + Clone
    + Send
    + 'static
{
    /// Of its responses.
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> Below for S
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>, Future: Send>,
    S: Clone + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Body = B;
}

/// Polls what is below, and takes its panic for an end like any other.
pub(crate) fn caught(poll: impl FnOnce() -> Poll<Option<Ended>>) -> Poll<Option<Ended>> {
    // Nobody looks at what panicked again.
    let polled = catch_unwind(AssertUnwindSafe(poll));
    polled.unwrap_or_else(|panic| Poll::Ready(Some(Ended::Panicked(panic))))
}

/// Polls what is below. A panic there goes on its way, and `book` is called on it: without a verdict
/// its attempt would pass for one whose caller went away.
///
/// Why is it not caught? What is caught must be moved once more, each time that nothing panics.
pub(crate) fn watched<T, P>(it: &mut T, poll: impl FnOnce(&mut T) -> P, book: fn(&mut T)) -> P {
    struct Watch<'a, T>(&'a mut T, fn(&mut T));

    impl<T> Drop for Watch<'_, T> {
        fn drop(&mut self) {
            // Who is told of it may panic too, and the two must not meet.
            _ = catch_unwind(AssertUnwindSafe(|| (self.1)(self.0)));
        }
    }

    let watch = Watch(it, book);
    let polled = poll(watch.0);
    forget(watch);
    polled
}

/// Frames may come faster than they are read, and may have nothing in them: after so many that were
/// there at once a body is pending once, so that the deadline is looked at and others have their
/// turn.
///
/// Why not by tokio's own budget of steps? To ask it takes ten times as long.
pub(crate) struct Turns {
    left: u8,
}

impl Turns {
    /// The next frame of `body`.
    pub(crate) fn poll_frame(
        &mut self,
        body: &mut Body,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(left) = self.left.checked_sub(1) else {
            *self = Self::default();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        };
        self.left = left;
        let frame = Pin::new(body).poll_frame(cx);
        if frame.is_pending() {
            *self = Self::default();
        }
        frame
    }
}

impl Default for Turns {
    /// As many as tokio gives a task.
    fn default() -> Self {
        Self { left: 128 }
    }
}
