//! This file knows what a call brought when it brought no reply.
//!
//! The same four ends as in `evenkeel-std`, kept here again because this crate stands on the core
//! alone, and a core that never sees replies and errors cannot keep them.

use core::fmt;

use evenkeel_core::{Attempt, Instant, Micros, StopReason};

/// Why a call brought no reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error<E> {
    /// The breaker refused the next attempt.
    CircuitOpen {
        /// When asking again makes sense, on the driver's clock; [`Instant::MAX`] when the breaker
        /// was forced open.
        retry_at: Instant,
        /// How long that was off when the error was made.
        retry_after: Micros,
        /// What the peer last said, if it was asked at all.
        last: Option<E>,
    },
    /// Time ran out: during an attempt, or before one could start.
    DeadlineExceeded {
        /// What the peer last said, if it said anything.
        last: Option<E>,
    },
    /// There was no target to send it to.
    NoTarget,
    /// The peer's own last error, and why there was no further attempt.
    Peer {
        /// What the peer said.
        error: E,
        /// Why that was final.
        reason: StopReason,
    },
}

impl<E> Error<E> {
    /// What the peer last said, if it said anything.
    pub const fn peer(&self) -> Option<&E> {
        match self {
            Self::CircuitOpen { last, .. } | Self::DeadlineExceeded { last } => last.as_ref(),
            Self::NoTarget => None,
            Self::Peer { error, .. } => Some(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CircuitOpen { retry_at: Instant::MAX, .. } => {
                f.write_str("circuit breaker is open, forced by hand")
            }
            Self::CircuitOpen { retry_after, .. } => {
                write!(f, "circuit breaker is open, next try in {retry_after}")
            }
            Self::DeadlineExceeded { .. } => f.write_str("deadline exceeded"),
            Self::NoTarget => f.write_str("no target is eligible"),
            Self::Peer { error, .. } => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::CircuitOpen { last, .. } | Self::DeadlineExceeded { last } => {
                last.as_ref().map(|error| error as &(dyn core::error::Error + 'static))
            }
            Self::NoTarget => None,
            Self::Peer { error, .. } => error.source(),
        }
    }
}

/// Keeps the replies of a call while the machine, which never sees them, decides.
pub(crate) struct Ledger<T, E> {
    last: Last<T>,
    error: Option<E>,
}

/// What the last attempt ended in.
enum Last<T> {
    CutOff,
    Nothing,
    PeerError,
    Reply(T),
}

impl<T, E> Ledger<T, E> {
    pub(crate) const fn new() -> Self {
        Self { last: Last::Nothing, error: None }
    }

    /// Keeps what `attempt` brought at `now`. A reply at or after its deadline is too late; an
    /// error then is still the last the peer said.
    pub(crate) fn keep(&mut self, now: Instant, attempt: &Attempt, reply: Result<T, E>) {
        self.last = match reply {
            Ok(_) if attempt.deadline().is_over(now) => Last::CutOff,
            Ok(reply) => Last::Reply(reply),
            Err(error) => {
                self.error = Some(error);
                if attempt.deadline().is_over(now) { Last::CutOff } else { Last::PeerError }
            }
        };
    }

    pub(crate) fn cut_off(&mut self) {
        self.last = Last::CutOff;
    }

    /// What the caller gets, now that the call has stopped.
    pub(crate) fn settle(self, now: Instant, reason: StopReason) -> Result<T, Error<E>> {
        if let StopReason::CircuitOpen { retry_at } = reason {
            let retry_after = retry_at.since(now);
            return Err(Error::CircuitOpen { retry_at, retry_after, last: self.error });
        }
        match (self.last, self.error) {
            (Last::Reply(reply), _) => Ok(reply),
            (Last::PeerError, Some(error)) => Err(Error::Peer { error, reason }),
            (Last::Nothing, None) if matches!(reason, StopReason::NoTarget) => Err(Error::NoTarget),
            (_, last) => Err(Error::DeadlineExceeded { last }),
        }
    }
}
