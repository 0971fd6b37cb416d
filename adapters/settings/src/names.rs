//! This file knows what the core calls a setting, and what a settings file calls it.

use evenkeel_core::Invalid;

/// What a settings file calls the setting that the core, or an adapter, refused.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_settings::{core::Backoff, path_of};
///
/// let refused = Backoff::new(Duration::MAX, Duration::ZERO).unwrap_err();
/// assert_eq!((refused.field(), path_of(&refused)), ("backoff.initial", "retry.initial_backoff"));
/// ```
pub fn path_of(invalid: &Invalid) -> &'static str {
    match invalid.field() {
        "backoff.initial" => "retry.initial_backoff",
        "backoff.jitter" => "retry.jitter",
        "backoff.max" => "retry.max_backoff",
        "backoff.multiplier" => "retry.multiplier",
        "dial.connect_timeout" => "channel.connect_timeout",
        "dial.initial" => "channel.initial_backoff",
        "dial.max" => "channel.max_backoff",
        "retry.attempt_timeout" => "timeout.attempt_timeout",
        same => same,
    }
}

/// The rule that was broken, in the words of a settings file where the core speaks of arguments.
pub(crate) fn rule_of(invalid: &Invalid) -> &'static str {
    match invalid.field() {
        "breaker.min_calls" => "must be from 1 to breaker.window_calls",
        _ => invalid.rule(),
    }
}
