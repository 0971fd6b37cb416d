//! This file knows what the core calls a setting, what a settings file calls it, and which name
//! somebody meant.

use evenkeel_core::Invalid;

/// What a settings file calls the setting that the core, or an adapter, refused.
///
/// Nearly all have the same name. A backoff has a name of its own, because it is nobody's alone;
/// here it is that of `[retry]`.
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

/// The one of `known` that is so near to `name` that it was meant.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let apart = |known: &str| strsim::damerau_levenshtein(name, known);
    known.min_by_key(|known| apart(known)).filter(|it| apart(it) <= it.len().div_ceil(3))
}

/// Longer than any name there is, and short enough to compare with all of them.
pub(crate) const LONGEST_NAME: usize = 48;
