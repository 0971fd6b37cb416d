//! This file knows how a call ends for a caller without gRPC, and drives one by blocking.

use core::error::Error as StdError;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};

use evenkeel_core::{
    Action, Attempt, Call, Code, Deadline, Instant, Micros, Next, Outcome, StopReason, Upstream,
};

use crate::BlockingClock;

/// Makes attempts until one settles the call, blocking the thread while it waits.
///
/// `attempt` must respect [`Attempt::deadline`] itself (by the read timeout of a socket, say): a
/// thread cannot be cut off. An answer that comes at or after it is too late, whatever it says.
/// `classify` says how an attempt ended; `seed` decides the jitter and must differ from call to
/// call, which [`fresh_seed`](crate::fresh_seed) sees to. A panic in `attempt` or `classify` makes
/// that attempt a failure (`UNKNOWN`) before it goes on its way, so that no trial is lost in it.
///
/// # Errors
///
/// [`Error`], in which the peer's last own error is never lost.
///
/// ```
/// use evenkeel_core::{CallPolicy, Clock, Deadline, Outcome};
/// use evenkeel_std::{ManualClock, Shared, call};
///
/// let clock = ManualClock::new();
/// let billing = Shared::new(CallPolicy::DEFAULT);
/// let mut replies = [Err("connection reset"), Ok(42)].into_iter();
///
/// let reply = call(
///     &clock,
///     billing.view(),
///     billing.call_policy().deadline(clock.now(), Deadline::NONE),
///     7,
///     |reply: &Result<i32, &str>| match reply {
///         Ok(_) => Outcome::success(),
///         Err(_) => Outcome::unavailable(),
///     },
///     |_attempt| replies.next().unwrap(),
/// );
/// assert_eq!(reply, Ok(42));
/// assert!(clock.now().as_micros() >= 90_000, "it waited before the second attempt");
/// ```
///
/// A socket ends at the deadline when each of its steps is given what is left. That may be nothing,
/// and sockets take no timeout of zero:
///
/// ```no_run
/// use std::io::{ErrorKind, Read, Result, Write};
/// use std::net::{SocketAddr, TcpStream};
/// use std::time::Duration;
///
/// use evenkeel_core::{Attempt, Clock, Deadline, Outcome};
/// use evenkeel_std::{Shared, StdClock, call, fresh_seed};
///
/// fn left(attempt: &Attempt) -> Result<Duration> {
///     let left = attempt.deadline().remaining(StdClock.now());
///     if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left.as_duration()) }
/// }
///
/// fn ping(address: &SocketAddr, attempt: &Attempt) -> Result<[u8; 4]> {
///     let mut stream = TcpStream::connect_timeout(address, left(attempt)?)?;
///     stream.set_write_timeout(Some(left(attempt)?))?;
///     stream.write_all(b"ping")?;
///     stream.set_read_timeout(Some(left(attempt)?))?;
///     let mut reply = [0; 4];
///     stream.read_exact(&mut reply)?; // one timeout for each read: enough for one packet
///     Ok(reply)
/// }
///
/// fn classify(reply: &Result<[u8; 4]>) -> Outcome {
///     match reply {
///         Ok(_) => Outcome::success(),
///         Err(error) if error.kind() == ErrorKind::ConnectionRefused => Outcome::not_connected(),
///         Err(_) => Outcome::unavailable(),
///     }
/// }
///
/// fn is_there(peer: &Shared, address: SocketAddr) -> bool {
///     let deadline = peer.call_policy().deadline(StdClock.now(), Deadline::NONE);
///     let ping = |attempt: &Attempt| ping(&address, attempt);
///     call(&StdClock, peer.view(), deadline, fresh_seed(), classify, ping).is_ok()
/// }
/// # let _ = is_there;
/// ```
pub fn call<U: Upstream, T, E>(
    clock: &impl BlockingClock,
    mut upstream: U,
    deadline: Deadline,
    seed: u32,
    classify: impl Fn(&Result<T, E>) -> Outcome,
    mut attempt: impl FnMut(&Attempt) -> Result<T, E>,
) -> Result<T, Error<E>> {
    let mut call = Call::new(deadline, seed);
    let mut ledger = Ledger::new();
    loop {
        let now = clock.now();
        match call.poll(now, &mut upstream) {
            Action::Attempt(next) => {
                // Nobody sees what a panic may have left half done: it is resumed once booked.
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    let reply = attempt(&next);
                    (classify(&reply), reply)
                }));
                let now = clock.now();
                match ended {
                    Ok((outcome, reply)) => {
                        ledger.keep(now, &next, reply);
                        if let Next::Stop(reason) = call.complete(now, &mut upstream, next, outcome)
                        {
                            return ledger.settle(now, reason);
                        }
                    }
                    Err(panic) => {
                        call.complete(now, &mut upstream, next, Outcome::new(Code::Unknown));
                        resume_unwind(panic);
                    }
                }
            }
            Action::WaitUntil(at) => clock.sleep_until(at),
            Action::Finish(reason) => return ledger.settle(now, reason),
        }
    }
}

/// Why a call brought no reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
            Self::Peer { error, reason } => write!(f, "{error} (no further attempt: {reason})"),
        }
    }
}

impl<E: StdError + 'static> StdError for Error<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::CircuitOpen { last, .. } | Self::DeadlineExceeded { last } => {
                last.as_ref().map(|error| error as &(dyn StdError + 'static))
            }
            Self::NoTarget => None,
            Self::Peer { error, .. } => error.source(),
        }
    }
}

/// Keeps the replies of a call while the machine, which never sees them, decides.
///
/// Shared by the drivers, so that all of them end a call with the same error.
#[derive(Clone, Debug)]
pub struct Ledger<T, E> {
    last: Last<T>,
    error: Option<E>,
}

/// What the last attempt ended in.
#[derive(Clone, Debug)]
enum Last<T> {
    CutOff,
    Nothing,
    PeerError,
    Reply(T),
}

impl<T, E> Ledger<T, E> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { last: Last::Nothing, error: None }
    }

    /// Keeps what `attempt` brought at `now`. A reply at or after its deadline is too late; an
    /// error then is still the last the peer said.
    pub fn keep(&mut self, now: Instant, attempt: &Attempt, reply: Result<T, E>) {
        self.last = match reply {
            Ok(_) if attempt.deadline().is_over(now) => Last::CutOff,
            Ok(reply) => Last::Reply(reply),
            Err(error) => {
                self.error = Some(error);
                if attempt.deadline().is_over(now) { Last::CutOff } else { Last::PeerError }
            }
        };
    }

    /// Notes that an attempt was cut off at its deadline.
    pub fn cut_off(&mut self) {
        self.last = Last::CutOff;
    }

    /// What the caller gets, now that the call has stopped.
    ///
    /// # Errors
    ///
    /// Whatever the last attempt ended in, unless it succeeded.
    pub fn settle(self, now: Instant, reason: StopReason) -> Result<T, Error<E>> {
        if let StopReason::CircuitOpen { retry_at } = reason {
            let retry_after = retry_at.since(now);
            return Err(Error::CircuitOpen { retry_at, retry_after, last: self.error });
        }
        // By itself, because it is asked of every call.
        if let Last::Reply(reply) = self.last {
            return Ok(reply);
        }
        match (self.last, self.error) {
            (Last::PeerError, Some(error)) => Err(Error::Peer { error, reason }),
            (Last::Nothing, None) if matches!(reason, StopReason::NoTarget) => Err(Error::NoTarget),
            (_, last) => Err(Error::DeadlineExceeded { last }),
        }
    }
}

impl<T, E> Default for Ledger<T, E> {
    fn default() -> Self {
        Self::new()
    }
}
