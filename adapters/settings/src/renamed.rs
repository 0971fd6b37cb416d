//! This file knows what grpc-client-kit calls settings that have another name here, or none, and
//! what code and other libraries call some of ours.
//!
//! Whoever brings a file from there misspells nothing, and the nearest of our names may be another
//! setting: its `keepalive_time` is our `keepalive_interval`, and not our `keepalive_timeout`. A
//! name that is the same there and here is not in these tables. `docs/migrating.md` has the same
//! for people, and a test reads both.

/// What to do about the last name of a path, in lower case and with underscores, if it is one of
/// theirs.
pub(crate) fn hint(path: &str) -> Option<String> {
    if let Some(ours) = called(path) {
        return Some(format!("it is called {ours} here"));
    }
    let name = last(path);
    let gone = GONE.iter().find(|(theirs, _)| *theirs == name);
    let family = || FAMILIES.iter().find(|(begin, _)| name.starts_with(begin));
    gone.or_else(family).map(|(_, instead)| (*instead).to_owned())
}

/// Our path of such a name, where it has one.
pub(crate) fn ours(path: &str) -> Option<&'static str> {
    called(path)?.split(',').next()
}

fn called(path: &str) -> Option<&'static str> {
    let of = |table: &[(&str, &'static str)], name: &str| {
        table.iter().find(|(theirs, _)| *theirs == name).map(|(_, instead)| *instead)
    };
    let name = last(path);
    of(&PLACED, path)
        .or_else(|| of(&SECTIONS, name))
        .or_else(|| of(&KEYS, name))
        .or_else(|| of(&ELSEWHERE, name))
}

fn last(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, name)| name)
}

/// Names that are something else in these sections than elsewhere.
const PLACED: [(&str, &str); 5] = [
    ("health.failure_threshold", "health.fall"),
    ("health.success_threshold", "health.rise"),
    ("health_checker.failure_threshold", "health.fall"),
    ("health_checker.success_threshold", "health.rise"),
    ("hedging.max_retries", "hedging.max_attempts, which counts the first one too,"),
];

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
const GONE: [(&str, &str); 12] = [
    ("compression", "it is set in code: send_compressed, accept_compressed of the client"),
    ("enable_method_label", "it is set in code: methods of Builder::methods are labels"),
    ("logging_enabled", SPANS),
    ("max_channels_per_target", "leave it out: each member has one connection"),
    ("max_pings_without_data", "leave it out: pings are sent only while there are calls"),
    ("metrics_enabled", "it is set in code: Builder::metrics"),
    ("min_reconnect_backoff", "leave it out: channel.initial_backoff is the first pause"),
    ("options", "leave it out: no channel options are passed on"),
    ("permit_without_calls", "leave it out: pings are sent only while there are calls"),
    ("sensitive_methods", "it is set in code: Builder::sensitive"),
    ("success_log_level", LOGS),
    ("tracing_enabled", SPANS),
];

/// How names begin of which there are several.
const FAMILIES: [(&str, &str); 2] =
    [("log_", LOGS), ("sensitive_", "leave it out: messages and metadata are never logged")];

const SPANS: &str = "it is set in code: Builder::spans";

const LOGS: &str = "leave it out: messages and metadata are never logged, and which levels are is \
                    the subscriber's";
