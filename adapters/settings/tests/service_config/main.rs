//! gRPC service configs, read into the same policies.

mod names;
mod notes;
mod refused;
mod rules;
mod scenarios;

use evenkeel_settings::ServiceConfig;

/// The config that is right.
fn read(json: &str) -> ServiceConfig {
    ServiceConfig::from_json(json).unwrap_or_else(|refused| panic!("{json}\n{refused}"))
}

/// For every method, with this in it.
fn for_all(members: &str) -> String {
    format!(r#"{{"methodConfig": [{{"name": [{{}}], {members}}}]}}"#)
}

/// A retry policy with one member otherwise.
fn retry(member: &str, value: &str) -> String {
    let members = [
        ("maxAttempts", "4"),
        ("initialBackoff", "\"0.1s\""),
        ("maxBackoff", "\"1s\""),
        ("backoffMultiplier", "2"),
        ("retryableStatusCodes", "[\"UNAVAILABLE\"]"),
    ];
    let written: Vec<_> = members
        .into_iter()
        .map(|(name, usual)| (name, if name == member { value } else { usual }))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name:?}: {value}"))
        .collect();
    for_all(&format!("\"retryPolicy\": {{{}}}", written.join(", ")))
}
