//! This file knows what the core calls a setting, and what a settings file calls it.

use evenkeel_core::Invalid;

/// The path in a settings file of the core's `field`.
pub(crate) fn path_of(field: &'static str) -> &'static str {
    match field {
        "backoff.initial" => "retry.initial_backoff",
        "backoff.jitter" => "retry.jitter",
        "backoff.max" => "retry.max_backoff",
        "backoff.multiplier" => "retry.multiplier",
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
