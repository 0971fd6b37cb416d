//! This file knows a scenario from a policy by their keys, whatever is wrong with them: whoever takes
//! one for the other is told so, and not that each of its keys is unknown.

use std::path::Path;

use super::{read, takes};

/// Whether this file is a scenario, and no policy.
pub fn is_scenario(path: &Path) -> bool {
    read(path).is_ok_and(|text| has_keys_of_a_scenario(&text))
}

/// Whether this file is a policy, and no scenario.
pub fn is_policy(path: &Path) -> bool {
    read(path).is_ok_and(|text| has_keys_of_a_policy(&text))
}

pub(super) fn has_keys_of_a_scenario(text: &str) -> bool {
    let keys = keys(text);
    keys.iter().any(|key| takes::of(key).is_some()) && !keys.iter().any(|key| is_section(key))
}

pub(super) fn has_keys_of_a_policy(text: &str) -> bool {
    let keys = keys(text);
    keys.iter().any(|key| is_section(key)) && !keys.iter().any(|key| takes::of(key).is_some())
}

/// The outermost keys of a TOML or JSON text; none, if it is neither.
fn keys(text: &str) -> Vec<String> {
    if let Ok(table) = text.parse::<toml::Table>() {
        return table.into_iter().map(|(key, _)| key).collect();
    }
    let json: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(text);
    json.map_or_else(|_| Vec::new(), |map| map.into_iter().map(|(key, _)| key).collect())
}

fn is_section(key: &str) -> bool {
    SECTIONS.contains(&key)
}

/// Of the settings, of a preset's model, and of a service config.
const SECTIONS: [&str; 14] = [
    "timeout",
    "budget",
    "wait_for_ready",
    "retry",
    "breaker",
    "throttle",
    "hedging",
    "health",
    "balancing",
    "channel",
    "model",
    "methodConfig",
    "retryThrottling",
    "loadBalancingConfig",
];
