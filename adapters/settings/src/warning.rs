//! This file knows settings that are right one by one and look wrong together.
//!
//! Each is accepted: somebody may mean it. The kit prints them when a client is built, and the
//! linter counts them.

mod words;

use core::time::Duration;

use evenkeel_core::CodeSet;

use crate::MethodPattern;

/// What looks wrong, and what to do about it.
///
/// ```
/// # #[cfg(feature = "toml")] {
/// use evenkeel_settings::{Settings, Warning};
///
/// let settings = Settings::from_toml("[retry]\nmax_attempts = 5\n[breaker]\n")?;
/// let warnings = settings.warnings();
/// assert_eq!(warnings, [Warning::OpensItself { fail_threshold: 5, max_attempts: 5 }]);
/// assert_eq!(
///     warnings[0].to_string(),
///     "breaker.fail_threshold = 5 is no more than the attempts that one target may get of a call \
///      (retry.max_attempts = 5): one failing call can open its own circuit; raise the threshold, or \
///      make fewer attempts"
/// );
/// # }
/// # Ok::<(), evenkeel_settings::SettingsError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// `attempt_timeout` with retries, and its expiry is not among the codes that are retried.
    AttemptTimeoutIsFinal {
        /// The limit for each attempt.
        attempt_timeout: Duration,
    },
    /// `attempt_timeout` ends the streams of a method.
    AttemptTimeoutEndsStreams {
        /// The limit for each attempt.
        attempt_timeout: Duration,
        /// The first such method of the table.
        method: Box<str>,
    },
    /// `attempt_timeout` without a timeout of the whole call.
    AttemptsWithoutEnd {
        /// The limit for each attempt.
        attempt_timeout: Duration,
    },
    /// A cap in `budget.call_caps` under a name that no method has.
    CapWithoutMethod {
        /// That name.
        name: Box<str>,
    },
    /// Hedges at once, and no code after whose failure the others count.
    FirstFailureEnds,
    /// `growth` without `max_open`.
    GrowsWithoutEnd,
    /// Codes are retried with which the handler may have run, for every method.
    HandlerMayHaveRun {
        /// Those codes.
        codes: CodeSet,
    },
    /// A method that is hedged has fewer attempts than if it was retried.
    HedgedLess {
        /// The attempts of a call that is hedged.
        hedged: u16,
        /// Those of one that is retried.
        retried: u16,
    },
    /// Hedges are sent without waiting for an answer.
    HedgesAtOnce {
        /// What every call costs.
        max_attempts: u16,
    },
    /// A list of the methods that may be executed twice, and none is on it.
    ListedNone,
    /// `max_backoff` below `initial_backoff`.
    MaxBelowInitial {
        /// The first wait.
        initial_backoff: Duration,
        /// The longest.
        max_backoff: Duration,
    },
    /// A name that no method of the client's table has, and that is nearly one.
    Misspelled {
        /// Such as `retry.idempotent_methods`.
        path: &'static str,
        /// What is written there.
        name: MethodPattern,
        /// What there is.
        meant: MethodPattern,
    },
    /// A delay before a hedge that no call lives to see.
    NeverHedges {
        /// The shortest there is.
        delay: Duration,
        /// The longest time of a call.
        timeout: Duration,
    },
    /// Sections about the members of a client, in a file for a client that has them from elsewhere.
    NeedsKit {
        /// Such as `channel`.
        sections: Vec<&'static str>,
    },
    /// A setting that nothing reads, given the others.
    NoEffect {
        /// Such as `breaker.share`.
        path: &'static str,
        /// What would make it count.
        needs: &'static str,
    },
    /// `DEADLINE_EXCEEDED` is retried, and no attempt has a limit of its own to run into.
    NoLimitForAnAttempt,
    /// A wait before the second attempt that no call lives to see the end of.
    NoRetryFits {
        /// The shortest that jitter makes of it.
        wait: Duration,
        /// The longest time of a call.
        timeout: Duration,
    },
    /// Something in a service config that a client of ours does otherwise.
    NotFollowed {
        /// Such as `maxRequestMessageBytes`.
        path: &'static str,
        /// What happens, or what to do about it.
        instead: &'static str,
    },
    /// Retries or hedges, and no request message is kept for them.
    NothingToSendAgain,
    /// A breaker that lets a trial through as soon as it is open.
    OpensForNoTime,
    /// A breaker that one call can open by itself, with a target's share of its attempts.
    OpensItself {
        /// Failures in a row that open it.
        fail_threshold: u16,
        /// Attempts of one call, at all targets together.
        max_attempts: u16,
    },
    /// A throttle that each success refills for a whole retry.
    RatioBoundsLittle {
        /// Tokens for each success, in thousandths.
        token_ratio: u32,
    },
    /// Two retry loops, one below the other.
    StackedRetries {
        /// The attempts of ours.
        max_attempts: u16,
        /// The attempts of the one below; `None` if nobody knows.
        below: Option<u16>,
    },
    /// A weight of a target that is not in `channel.targets`.
    WeightWithoutTarget {
        /// That target.
        target: Box<str>,
    },
    /// Calls should wait for a connection, and have no deadline of ours.
    WaitWithoutDeadline {
        /// Whether that makes them fail fast, rather than wait for ever.
        require_deadline: bool,
    },
}
