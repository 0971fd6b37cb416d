//! This file knows whether a failed attempt is tried again, and when; and, if not, why not.
//!
//! Before changing this file read gRPC A6 and section 5 of `docs/semantics.md`. The order of the
//! questions is part of the contract, because the first "no" is the reason a person reads in an
//! incident.

use core::time::Duration;

use crate::words::NextTry;
use crate::{
    Backoff, CodeSet, Deadline, Growth, Instant, Invalid, Micros, Outcome, Pushback, Random,
};

/// What is tried again, how often, and how fast.
///
/// Default (grpc-client-kit): three attempts, the first included; `UNAVAILABLE` and
/// `RESOURCE_EXHAUSTED`; 100 ms doubling to 10 s, ±10 %; peers may ask for up to 5 min; every
/// method may be repeated.
///
/// ```
/// use evenkeel_core::{Code, CodeSet, RetryPolicy, checked};
///
/// const POLICY: RetryPolicy = checked!(RetryPolicy::DEFAULT.with_max_attempts(5))
///     .with_codes(CodeSet::RETRYABLE.with(Code::Aborted));
/// assert_eq!(POLICY.max_attempts(), 5);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RetryPolicy {
    backoff: Backoff,
    codes: CodeSet,
    max_hint: Micros,
    max_attempts: u16,
    repeatable: bool,
}

impl RetryPolicy {
    /// Three attempts at `UNAVAILABLE` and `RESOURCE_EXHAUSTED`.
    pub const DEFAULT: Self = Self {
        backoff: Backoff::DEFAULT,
        codes: CodeSet::RETRYABLE,
        max_hint: Micros::from_millis(300_000),
        max_attempts: 3,
        repeatable: true,
    };

    /// No retries; what was certainly never executed is still repeated at once, as
    /// [`Sent`](crate::Sent) says.
    pub const OFF: Self = Self { max_attempts: 1, codes: CodeSet::EMPTY, ..Self::DEFAULT };

    /// With this many attempts, the first included; 1 never retries.
    ///
    /// # Errors
    ///
    /// Refuses 0, which would mean that nothing is ever sent.
    pub const fn with_max_attempts(mut self, attempts: u16) -> Result<Self, Invalid> {
        if attempts == 0 {
            let rule = "must be 1 or more; it counts the first attempt, so 1 never retries";
            return Err(Invalid::new("retry.max_attempts", 0, "", rule));
        }
        self.max_attempts = attempts;
        Ok(self)
    }

    /// With these codes tried again. Empty: none is. `OK` in it has no effect.
    pub const fn with_codes(mut self, codes: CodeSet) -> Self {
        self.codes = codes;
        self
    }

    /// With these waits between attempts.
    pub const fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// With this longest wait a peer may ask for; a longer wish ends the call instead.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_max_hint(mut self, limit: Duration) -> Result<Self, Invalid> {
        self.max_hint = match Micros::setting("retry.max_hint", limit) {
            Ok(limit) => limit,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// For a method whose second execution would do harm: only attempts of which it is certain
    /// that nothing was executed are tried again.
    pub const fn not_idempotent(mut self) -> Self {
        self.repeatable = false;
        self
    }

    /// For a method that may be executed twice (the default).
    pub const fn idempotent(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// How many attempts a call has, the first included.
    pub const fn max_attempts(&self) -> u16 {
        self.max_attempts
    }

    /// The codes that are tried again.
    pub const fn codes(&self) -> CodeSet {
        self.codes
    }

    /// The waits between attempts.
    pub const fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// The longest wait a peer may ask for.
    pub const fn max_hint(&self) -> Micros {
        self.max_hint
    }

    /// Whether an attempt that may have been executed may be repeated.
    pub const fn is_idempotent(&self) -> bool {
        self.repeatable
    }

    /// Whether `failed` is worth another attempt, leaving aside the throttle and the time.
    ///
    /// # Errors
    ///
    /// The first of `NotRetryable`, `NotIdempotent`, `NotReplayable` and `AttemptsUsedUp` that
    /// holds.
    pub(crate) fn wants(&self, failed: &Outcome, so_far: Progress) -> Result<(), Stop> {
        if !self.codes.contains(failed.code) {
            return Err(Stop::NotRetryable);
        }
        if !self.repeatable && !failed.sent.nothing_executed() {
            return Err(Stop::NotIdempotent);
        }
        if !so_far.replayable {
            return Err(Stop::NotReplayable);
        }
        if so_far.attempts >= self.max_attempts {
            return Err(Stop::AttemptsUsedUp);
        }
        Ok(())
    }

    /// When the next attempt starts, if it can start before `deadline`.
    ///
    /// # Errors
    ///
    /// `PushedBack`, `HintTooLong` or `DeadlineWouldPass`: the wait is not begun.
    pub(crate) fn schedule(
        &self,
        now: Instant,
        failed: &Outcome,
        deadline: Deadline,
        growth: &mut Growth,
        rng: &mut impl Random,
    ) -> Result<(Instant, Because), Stop> {
        let (delay, because) = match failed.pushback {
            Pushback::Stop => return Err(Stop::PushedBack),
            Pushback::Exactly(hint) | Pushback::AtLeast(hint) if hint > self.max_hint => {
                return Err(Stop::HintTooLong);
            }
            Pushback::Exactly(hint) => {
                *growth = Growth::START;
                (hint, Because::Pushback)
            }
            Pushback::AtLeast(hint) => {
                let own = self.backoff.next_delay(growth, rng);
                if hint > own { (hint, Because::Hint) } else { (own, Because::Backoff) }
            }
            Pushback::None => (self.backoff.next_delay(growth, rng), Because::Backoff),
        };
        let at = now.after(delay);
        if at >= deadline.instant() {
            return Err(Stop::DeadlineWouldPass);
        }
        Ok((at, because))
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Where a call stands when one of its attempts has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Attempts made that count.
    pub(crate) attempts: u16,
    /// Whether the request can be given again.
    pub(crate) replayable: bool,
}

/// Why the next attempt comes when it comes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Because {
    /// The policy's backoff.
    Backoff,
    /// The peer asked for at least this long.
    Hint,
    /// The peer asked for exactly this long.
    Pushback,
    /// Nothing was executed, so it is repeated at once and counts for nothing.
    Transparent,
}

/// Why a call goes no further. Final; a stop is not an error, [`Succeeded`](Self::Succeeded) is
/// one too.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StopReason {
    /// All attempts were made.
    AttemptsUsedUp,
    /// The caller went away.
    Cancelled,
    /// The breaker refused the next attempt.
    CircuitOpen {
        /// When asking again makes sense.
        retry_at: Instant,
    },
    /// The call's deadline had passed before an attempt could start.
    DeadlinePassed,
    /// The wait before the next attempt would have reached the deadline, so it was not begun.
    DeadlineWouldPass,
    /// The peer asked for a longer wait than the policy's `max_hint`.
    HintTooLong {
        /// What it asked for.
        hint: Micros,
    },
    /// There is no target to send it to.
    NoTarget,
    /// It may have been executed, and the method is not one that may be executed twice.
    NotIdempotent,
    /// The request cannot be given a second time: a stream that was already read, or too large to
    /// be kept.
    NotReplayable,
    /// The code is not one that is tried again.
    NotRetryable,
    /// The peer asked not to be tried again.
    PushedBack,
    /// An attempt succeeded.
    Succeeded,
    /// Retries are throttled: too many calls to this upstream fail.
    Throttled,
}

/// [`StopReason`] without what it carries: one byte, which is what the machines pass around.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) enum Stop {
    AttemptsUsedUp,
    Cancelled,
    CircuitOpen,
    DeadlinePassed,
    DeadlineWouldPass,
    HintTooLong,
    NoTarget,
    NotIdempotent,
    NotReplayable,
    NotRetryable,
    PushedBack,
    Succeeded,
    Throttled,
}

impl core::fmt::Display for StopReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::AttemptsUsedUp => "all attempts were used up",
            Self::Cancelled => "the caller went away",
            Self::CircuitOpen { retry_at } => {
                return write!(f, "the circuit breaker is open, {}", NextTry(*retry_at));
            }
            Self::DeadlinePassed => "the deadline has passed",
            Self::DeadlineWouldPass => "the wait before a retry would have reached the deadline",
            Self::HintTooLong { hint } => {
                return write!(f, "the peer asked for a wait of {hint}, longer than max_hint");
            }
            Self::NoTarget => "there is no eligible target",
            Self::NotIdempotent => "it may have been executed and the method is not idempotent",
            Self::NotReplayable => "the request cannot be sent a second time",
            Self::NotRetryable => "the code is not retryable",
            Self::PushedBack => "the peer asked not to be tried again",
            Self::Succeeded => "it succeeded",
            Self::Throttled => "retries are throttled",
        })
    }
}
