//! This file knows how errors that keep a status print themselves: with its code and message, and
//! without its metadata and details, which may be secrets of somebody's.

use core::error::Error;
use core::fmt::{self, Debug, Formatter};

use tonic::Status;

use super::{CircuitOpen, Closed, DeadlinePassed, Stopped};
use crate::TransportError;

impl Debug for CircuitOpen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { key, retry_at, attempts, last, .. } = self;
        let mut shown = f.debug_struct("CircuitOpen");
        shown.field("key", key).field("retry_at", retry_at).field("attempts", attempts);
        shown.field("last", &last.as_ref().map(Brief)).finish()
    }
}

impl Debug for Closed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { upstream, attempts, last } = self;
        let mut shown = f.debug_struct("Closed");
        shown.field("upstream", upstream).field("attempts", attempts);
        shown.field("last", &last.as_ref().map(Brief)).finish()
    }
}

impl Debug for DeadlinePassed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { method, limit, attempts, last, nobody, connecting, unconnected } = self;
        let mut shown = f.debug_struct("DeadlinePassed");
        shown.field("method", method).field("limit", limit).field("attempts", attempts);
        shown.field("last", &last.as_ref().map(Brief)).field("nobody", nobody);
        shown.field("connecting", connecting).field("unconnected", unconnected).finish()
    }
}

impl Debug for Stopped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { reason, attempts, never, unreadable, cause } = self;
        let mut shown = f.debug_struct("Stopped");
        shown.field("reason", reason).field("attempts", attempts).field("never", never);
        shown.field("unreadable", unreadable);
        shown.field("cause", &cause.as_ref().map(Brief)).finish()
    }
}

impl Debug for TransportError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TransportError");
        shown.field("code", &self.code()).field("sent", &self.sent());
        shown.field("source", &Chain(&*self.source)).finish()
    }
}

/// A status without its metadata and details, and what is behind it told as shortly.
struct Brief<'a>(&'a Status);

impl Debug for Brief<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Chain(self.0).fmt(f)
    }
}

/// An error and its sources: statuses as [`Brief`] tells them, the others as they tell themselves;
/// one that only repeats what it was made of, as tonic's `ConnectError` does, not at all.
struct Chain<'a>(&'a (dyn Error + 'static));

impl Debug for Chain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (mut next, mut arrow, mut before) = (Some(self.0), "", String::new());
        while let Some(error) = next {
            let told = match error.downcast_ref::<Status>() {
                Some(status) => format!("{:?}: {:?}", status.code(), status.message()),
                None => error.to_string(),
            };
            if told != before {
                write!(f, "{arrow}{told}")?;
            }
            (arrow, before) = (" <- ", told);
            next = error.source();
        }
        Ok(())
    }
}
