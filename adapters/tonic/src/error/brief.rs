//! This file knows how errors that keep a status print themselves: with its code and message, and
//! without its metadata and details, which may be secrets of somebody's.

use core::error::Error as _;
use core::fmt::{self, Debug, Formatter};

use tonic::Status;

use super::{CircuitOpen, DeadlinePassed, Stopped};

impl Debug for CircuitOpen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { key, retry_at, attempts, last } = self;
        let mut shown = f.debug_struct("CircuitOpen");
        shown.field("key", key).field("retry_at", retry_at).field("attempts", attempts);
        shown.field("last", &last.as_ref().map(Brief)).finish()
    }
}

impl Debug for DeadlinePassed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { method, attempts, last } = self;
        let mut shown = f.debug_struct("DeadlinePassed");
        shown.field("method", method).field("attempts", attempts);
        shown.field("last", &last.as_ref().map(Brief)).finish()
    }
}

impl Debug for Stopped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { reason, attempts, cause } = self;
        let mut shown = f.debug_struct("Stopped");
        shown.field("reason", reason).field("attempts", attempts);
        shown.field("cause", &cause.as_ref().map(Brief)).finish()
    }
}

/// A status without its metadata and details, and what is behind it told as shortly.
struct Brief<'a>(&'a Status);

impl Debug for Brief<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.0.code(), self.0.message())?;
        let mut next = self.0.source();
        while let Some(error) = next {
            match error.downcast_ref::<Status>() {
                Some(status) => write!(f, " <- {:?}: {:?}", status.code(), status.message())?,
                None => write!(f, " <- {error}")?,
            }
            next = error.source();
        }
        Ok(())
    }
}
