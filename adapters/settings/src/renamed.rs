//! This file knows what grpc-client-kit calls settings that have another name here, or none, and
//! what code and other libraries call some of ours.
//!
//! Whoever brings a file from there misspells nothing, and the nearest of our names may be another
//! setting: its `keepalive_time` is our `keepalive_interval`, and not our `keepalive_timeout`. A
//! name that is the same there and here is not in these tables. `docs/migrating.md` has the same
//! for people, and a test reads both.

/// What to do about a name, in lower case and with underscores, if it is one of theirs.
pub(crate) fn hint(name: &str) -> Option<String> {
    let of = |table: &[(&str, &'static str)]| {
        table.iter().find(|(theirs, _)| *theirs == name).map(|(_, instead)| *instead)
    };
    if let Some(ours) = of(&SECTIONS).or_else(|| of(&KEYS)).or_else(|| of(&ELSEWHERE)) {
        return Some(format!("it is called {ours} here"));
    }
    let family = || FAMILIES.iter().find(|(begin, _)| name.starts_with(begin));
    of(&GONE).or_else(|| family().map(|(_, instead)| *instead)).map(str::to_owned)
}

/// Whether this is a section of theirs, in which there may be other keys of theirs.
pub(crate) fn is_section(name: &str) -> bool {
    SECTIONS.iter().any(|(theirs, _)| *theirs == name)
}

const SECTIONS: [(&str, &str); 6] = [
    ("balancer", "balancing"),
    ("circuit_breaker", "breaker"),
    ("connectivity", "channel"),
    ("deadline_budget", "budget"),
    ("health_checker", "health"),
    ("pool", "channel"),
];

const KEYS: [(&str, &str); 6] = [
    ("backoff_multiplier", "retry.multiplier"),
    ("initial_reconnect_backoff", "channel.initial_backoff"),
    ("keepalive_time", "channel.keepalive_interval"),
    ("max_reconnect_backoff", "channel.max_backoff"),
    ("retryable_codes", "retry.codes"),
    ("target", "channel.targets, always a list,"),
];

/// Names that are nobody's in a file: of the builders' methods and of other libraries.
const ELSEWHERE: [(&str, &str); 9] = [
    ("failure_threshold", "breaker.fail_threshold"),
    ("max_retries", "retry.max_attempts, which counts the first one too,"),
    ("max_trials", "breaker.half_open_max_calls"),
    ("open_for", "breaker.recovery_timeout"),
    ("open_jitter", "breaker.jitter"),
    ("open_timeout", "breaker.recovery_timeout"),
    ("retryable_status_codes", "retry.codes"),
    ("retries", "retry.max_attempts, which counts the first one too,"),
    ("success_threshold", "breaker.successes_to_close"),
];

/// What no file says here, and what happens or what to do in place of it.
const GONE: [(&str, &str); 11] = [
    ("compression", "it is set in code: send_compressed, accept_compressed of the client"),
    ("enable_method_label", "it is set in code: methods of Builder::methods are labels"),
    ("logging_enabled", SPANS),
    ("max_channels_per_target", "leave it out: each member has one connection"),
    ("max_pings_without_data", "leave it out: pings are sent only while there are calls"),
    ("metrics_enabled", "it is set in code: Builder::metrics"),
    ("min_reconnect_backoff", "leave it out: channel.initial_backoff is the shortest pause"),
    ("options", "leave it out: no channel options are passed on"),
    ("permit_without_calls", "leave it out: pings are sent only while there are calls"),
    ("success_log_level", SPANS),
    ("tracing_enabled", SPANS),
];

/// How names begin of which there are several.
const FAMILIES: [(&str, &str); 2] =
    [("log_", SPANS), ("sensitive_", "it is set in code: Builder::sensitive")];

const SPANS: &str = "it is set in code: Builder::spans";
