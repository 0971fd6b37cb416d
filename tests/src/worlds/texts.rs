//! This file knows the world of texts that people write: settings files, environments, service
//! configs and targets.

use evenkeel_settings::target::TargetName;
use evenkeel_settings::{ServiceConfig, Settings};

use crate::ensure;

/// Reads `bytes` as each of them.
///
/// # Errors
///
/// What is accepted must be written as something that means the same.
pub(super) fn live(bytes: &[u8]) -> Result<(), String> {
    let Ok(text) = core::str::from_utf8(bytes) else { return Ok(()) };
    for read in [Settings::from_toml(text), Settings::from_json(text)].into_iter().flatten() {
        means_the_same(&read)?;
    }
    let variables = text.lines().filter_map(|line| line.split_once('='));
    let named = variables.map(|(name, value)| (format!("EVENKEEL__{name}"), value));
    if let Ok(read) = Settings::new().with_environment(named) {
        means_the_same(&read)?;
    }
    if let Ok(config) = ServiceConfig::from_json(text) {
        for method in ["/a.B/C", "/a.B/D", "", "/"] {
            let policy = config.call_policy(method);
            ensure!(policy.retry().max_attempts() <= 5, "{method:?}: {policy:?}");
        }
        // What is only remarked upon is bounded by what was written.
        ensure!(config.notes().len() <= text.len(), "{} notes", config.notes().len());
    }
    if let Ok(target) = text.parse::<TargetName>() {
        let again = target.to_string().parse::<TargetName>();
        ensure!(again.as_ref() == Ok(&target), "{target} is {again:?}");
    }
    Ok(())
}

fn means_the_same(read: &Settings) -> Result<(), String> {
    let (toml, json) = (read.to_toml(), read.to_json());
    ensure!(Settings::from_toml(&toml).as_ref() == Ok(read), "{read:?} is written as\n{toml}");
    ensure!(Settings::from_json(&json).as_ref() == Ok(read), "{read:?} is written as\n{json}");
    let _ = (read.warnings(), read.call_policy("/a.B/C"));
    Ok(())
}
