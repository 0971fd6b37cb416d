//! This file knows what a person reads of a warning: the keys, what comes of them, and what to do.

use core::fmt;
use core::time::Duration;

use super::Warning;
use crate::in_quotes;
use crate::kind::decimal;

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AttemptTimeoutIsFinal { attempt_timeout } => write!(
                f,
                "timeout.attempt_timeout = {attempt_timeout:?} cuts an attempt off, and the call \
                 with it: DEADLINE_EXCEEDED is not among retry.codes, so it never leads to another \
                 attempt; add that code, with retry.idempotent_methods, or take the limit out"
            ),
            Self::AttemptTimeoutEndsStreams { attempt_timeout, method } => write!(
                f,
                "timeout.attempt_timeout = {attempt_timeout:?} ends a response stream, such as {}, \
                 in the middle if it is still under way; give such methods \"none\" in \
                 timeout.per_method, which lifts it, or take the limit out",
                in_quotes(method)
            ),
            Self::AttemptsWithoutEnd { attempt_timeout } => write!(
                f,
                "timeout.attempt_timeout = {attempt_timeout:?} without timeout.default: a call may \
                 last attempts × that, and the waits; give it a timeout"
            ),
            Self::CapWithoutMethod { name } => write!(
                f,
                "budget.call_caps has a cap under {}, which applies to nothing; write the \
                 full name of a method, \"/package.Service/Method\"",
                in_quotes(name)
            ),
            Self::FirstFailureEnds => f.write_str(
                "hedging.non_fatal_codes is empty, as it is where nobody writes it: the first attempt \
                 to fail ends the call, though others are under way; name codes, such as UNAVAILABLE",
            ),
            Self::GrowsWithoutEnd => f.write_str(
                "breaker.growth without breaker.max_open: open times grow without end; set it to the \
                 longest that you would leave a target alone",
            ),
            Self::HandlerMayHaveRun { codes } => write!(
                f,
                "retry.codes has {codes:?}, with which the handler may have run, and no list says \
                 which methods may be executed twice; set retry.idempotent_methods"
            ),
            Self::HedgedLess { hedged, retried } => write!(
                f,
                "a method that may be executed twice is hedged and not retried: its calls have \
                 hedging.max_attempts = {hedged}, and not retry.max_attempts = {retried}; raise the \
                 one, or lower the other"
            ),
            Self::HedgesAtOnce { max_attempts } => write!(
                f,
                "hedging.delay = 0, as it is without delay and quantile, sends all attempts at once: \
                 every call costs {max_attempts}; wait about as long as nearly all calls take"
            ),
            Self::ListedNone => f.write_str(
                "retry.idempotent_methods is empty: only what was certainly not executed is tried \
                 again, and nothing is hedged; leave it out for what the .proto declares, or name \
                 methods",
            ),
            Self::MaxBelowInitial { initial_backoff, max_backoff } => write!(
                f,
                "retry.max_backoff = {max_backoff:?} is below retry.initial_backoff = \
                 {initial_backoff:?}: every wait is max_backoff; raise it"
            ),
            Self::Misspelled { path, name, meant } => write!(
                f,
                "{path} has \"{name}\", which no method of the table matches; did you mean \
                 \"{meant}\"?"
            ),
            Self::NeedsKit { sections } => {
                let (last, rest) = sections.split_last().unwrap_or((&"", &[]));
                let before: Vec<_> = rest.iter().map(|section| format!("[{section}]")).collect();
                f.write_str(&before.join(", "))?;
                let (and, have) = if rest.is_empty() { ("", "has") } else { (" and ", "have") };
                write!(
                    f,
                    "{and}[{last}] {have} no effect on this client, whose members are not the \
                     file's: use Kit::builder, whose settings is about members too"
                )
            }
            Self::NeverHedges { delay, timeout } => write!(
                f,
                "hedging waits {:?} at least, and a call has {timeout:?} at most: no attempt is \
                 sent beside one that does not answer; wait about as long as nearly all calls take",
                rounded(*delay)
            ),
            Self::NoRetryFits { wait, timeout } => write!(
                f,
                "a retry waits {:?} at least, and a call has {timeout:?} at most: none fits, \
                 unless its server asks for one sooner; lower retry.initial_backoff, or raise \
                 timeout.default",
                rounded(*wait)
            ),
            Self::NoEffect { path, needs } => {
                write!(f, "{path} has no effect: it needs {needs}; take it out, or set that")
            }
            Self::NoLimitForAnAttempt => f.write_str(
                "retry.codes has DEADLINE_EXCEEDED, and there is no timeout.attempt_timeout: an \
                 attempt that nobody answers takes all the time of its call, and leads to no other; \
                 set a limit for each attempt, or take that code out",
            ),
            Self::NotFollowed { path, instead } => {
                write!(f, "{path} in a service config is not followed: {instead}")
            }
            Self::NothingToSendAgain => f.write_str(
                "retry.replay_limit = 0 keeps no request message but an empty one, so that no other \
                 is sent a second time; raise it, or take the retries out",
            ),
            Self::OpensForNoTime => f.write_str(
                "breaker.recovery_timeout = 0 leaves no target alone: a circuit that opens is half-open \
                 at once, and goes on sending trials; set for how long calls should fail without \
                 being sent",
            ),
            Self::OpensItself { fail_threshold, max_attempts } => write!(
                f,
                "breaker.fail_threshold = {fail_threshold} is no more than the attempts that one \
                 target may get of a call (retry.max_attempts = {max_attempts}): one failing call \
                 can open its own circuit; raise the threshold, or make fewer attempts"
            ),
            Self::RatioBoundsLittle { token_ratio } => write!(
                f,
                "throttle.token_ratio = {} gives back a retry or more with each success: none is \
                 held back before half of all attempts fail; write a share, such as 0.1",
                decimal(*token_ratio)
            ),
            Self::StackedRetries { max_attempts, below: Some(below) } => write!(
                f,
                "something below this client retries too: {max_attempts} × {below} attempts a \
                 call; keep one retry loop"
            ),
            Self::StackedRetries { max_attempts, below: None } => write!(
                f,
                "something below this client retries too: {max_attempts} × its attempts a call \
                 (3 × 3 = 9); keep one retry loop"
            ),
            Self::WeightWithoutTarget { target } => write!(
                f,
                "balancing.weights has {}, which is none of channel.targets: unless code \
                 adds it, no client is built; write the target as it is there, or take the weight out",
                in_quotes(target)
            ),
            Self::WaitWithoutDeadline { require_deadline: true } => f.write_str(
                "wait_for_ready without timeout.default: calls without a deadline of their own \
                 fail fast; give them a timeout, or set wait_for_ready.require_deadline = false",
            ),
            Self::WaitWithoutDeadline { require_deadline: false } => f.write_str(
                "wait_for_ready.require_deadline = false without timeout.default: calls without a \
                 deadline of their own may wait for ever; give them a timeout",
            ),
        }
    }
}

/// A span that jitter made, without digits that nobody has written: "at least" stays true.
fn rounded(span: Duration) -> Duration {
    let millis = Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    if millis < Duration::from_millis(10) { span } else { millis }
}
