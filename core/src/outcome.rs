//! This file knows how an attempt ended, and what the call reports of it to its upstream.
//!
//! A machine never sees a reply or an error, only this: a code, how far the request got, and
//! whether the peer asked for anything. Whoever classifies (an adapter, a closure of yours) says
//! what happened; the rules decide what follows.

use crate::{Code, CodeSet, Micros};

/// How far the request of a failed attempt got.
///
/// This decides whether it is safe to repeat for *any* method: only [`Maybe`](Self::Maybe) can
/// have had an effect.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Sent {
    /// It may have been executed; only the codes and the allow-list can make it repeatable.
    Maybe,
    /// It never left this side, although there was a connection (one that was closing, say).
    /// Repeated at once, at most three times in a row.
    Never,
    /// There was no connection to send it on: the dial failed or was refused. Nothing was
    /// executed, but repeating it at once would only dial in a loop, so the retry policy paces it.
    NotConnected,
    /// The peer refused it before looking at it (`REFUSED_STREAM`, `GOAWAY` below its id).
    /// Repeated at once, once per call.
    Refused,
}

impl Sent {
    /// Whether it is certain that nothing was executed.
    pub const fn nothing_executed(self) -> bool {
        !matches!(self, Self::Maybe)
    }
}

/// What the peer asked for along with a failure.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Pushback {
    /// Wait at least this long: HTTP `Retry-After`, google.rpc `RetryInfo`. The policy's own
    /// backoff is kept when it is longer, and goes on growing.
    AtLeast(Micros),
    /// Wait exactly this long (gRPC A6 pushback); the backoff then starts over.
    Exactly(Micros),
    /// Nothing.
    None,
    /// Do not try again (gRPC A6: a negative or unreadable pushback).
    Stop,
}

impl Pushback {
    /// The wait it asks for, zero for none.
    pub(crate) const fn wait(self) -> Micros {
        match self {
            Self::AtLeast(wait) | Self::Exactly(wait) => wait,
            Self::None | Self::Stop => Micros::ZERO,
        }
    }
}

/// How an attempt ended.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{Code, Outcome, Pushback, Sent};
///
/// // With gRPC: the code, and what the transport knows.
/// let lost = Outcome::new(Code::Unavailable).with_sent(Sent::Maybe);
/// assert_eq!(lost, Outcome::unavailable());
///
/// // Without: four constructors say it all.
/// assert_eq!(Outcome::success().code, Code::Ok);
/// assert_eq!(Outcome::not_connected().sent, Sent::NotConnected);
/// assert_eq!(Outcome::refused_by_peer().code, Code::FailedPrecondition);
/// let busy = Outcome::unavailable().with_retry_after(Duration::from_secs(2));
/// assert!(matches!(busy.pushback, Pushback::AtLeast(_)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outcome {
    /// What kind of end it was.
    pub code: Code,
    /// How far the request got. Of no interest after a success.
    pub sent: Sent,
    /// What the peer asked for.
    pub pushback: Pushback,
}

impl Outcome {
    /// An end with this code that may have been executed, and no pushback.
    pub const fn new(code: Code) -> Self {
        Self { code, sent: Sent::Maybe, pushback: Pushback::None }
    }

    /// It worked.
    pub const fn success() -> Self {
        Self::new(Code::Ok)
    }

    /// The peer is not there, or broke off: worth another try where repeating is harmless, and a
    /// failure to the breaker.
    pub const fn unavailable() -> Self {
        Self::new(Code::Unavailable)
    }

    /// No connection could be made, so nothing was sent: worth another try for any operation, and
    /// a failure to the breaker.
    pub const fn not_connected() -> Self {
        Self::unavailable().with_sent(Sent::NotConnected)
    }

    /// The peer understood and said no: final, and no sign of ill health.
    pub const fn refused_by_peer() -> Self {
        Self::new(Code::FailedPrecondition)
    }

    /// With how far the request got.
    pub const fn with_sent(mut self, sent: Sent) -> Self {
        self.sent = sent;
        self
    }

    /// With what the peer asked for.
    pub const fn with_pushback(mut self, pushback: Pushback) -> Self {
        self.pushback = pushback;
        self
    }

    /// With the peer's wish to be left alone for at least `span`.
    pub const fn with_retry_after(self, span: core::time::Duration) -> Self {
        self.with_pushback(Pushback::AtLeast(Micros::from_duration(span)))
    }
}

/// What a call books on its target, and on the throttle, when an attempt ends.
///
/// An upstream gives it to [`BreakerPolicy::verdict`](crate::BreakerPolicy::verdict) and
/// [`Throttle::record`](crate::Throttle::record); a pool may also read the latency.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Report {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// How long it took. When nobody completed it, what the policy gives an attempt at most: its
    /// own limit or that of the call, and [`Micros::MAX`] without either.
    pub took: Micros,
    /// What, if anything, makes it say nothing about the target.
    pub weight: Weight,
}

/// Whether a report counts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Weight {
    /// The caller went away, or another attempt was faster.
    Cancelled,
    /// It counts.
    Counts,
    /// It ended in our own deadline after a slice shorter than the method is normally given, or with
    /// its answer [waiting to be fetched](crate::Call::excuse): that says nothing about the target.
    /// Its code still charges the throttle.
    CutShort,
    /// It is repeated at once because nothing was executed: no attempt, no failure, no token.
    Transparent,
}

impl Report {
    /// The report of an attempt that was given up.
    pub(crate) const CANCELLED: Self = Self {
        outcome: Outcome::new(Code::Cancelled),
        took: Micros::MAX,
        weight: Weight::Cancelled,
    };

    /// The report of an attempt whose driver let its deadline pass.
    pub(crate) const EXPIRED: Self = Self {
        outcome: Outcome::new(Code::DeadlineExceeded),
        took: Micros::MAX,
        weight: Weight::Counts,
    };

    /// Whether it speaks for or against the target at all.
    pub const fn counts(&self) -> bool {
        matches!(self.weight, Weight::Counts)
    }

    /// Whether it is a failure that a throttle charges: a code in `retryable`, or a "do not retry".
    pub const fn charges(&self, retryable: CodeSet) -> bool {
        match self.weight {
            Weight::Cancelled | Weight::Transparent => false,
            Weight::Counts | Weight::CutShort => {
                let stop = matches!(self.outcome.pushback, Pushback::Stop);
                !self.is_success() && (stop || retryable.contains(self.outcome.code))
            }
        }
    }

    /// Whether the attempt succeeded.
    pub const fn is_success(&self) -> bool {
        matches!(self.outcome.code, Code::Ok)
    }
}
