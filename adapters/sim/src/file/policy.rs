//! This file knows where a policy comes from: a preset, a settings file, or a gRPC service config.
//!
//! Files are read by `evenkeel-settings`, as the gRPC kit reads them, so what is simulated is what
//! will run. A section `[model]` of a preset's file says what the core does not ship.

use std::path::Path;

use evenkeel_core::{CallPolicy, RetryPolicy};
use evenkeel_settings::{Breaker, BreakerRule, ServiceConfig, Settings};
use serde::Deserialize;

use super::{Span, read};
use crate::models::{Aws, Envoy, Finagle, MongoDb};
use crate::presets::{PRESETS, named};
use crate::{Budget, Guard, Policy};

/// A policy with the name it was asked for by.
#[derive(Clone, Debug)]
pub struct Named {
    /// A preset's name, or the file's.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    /// What looks wrong with it, though each setting is right by itself.
    pub warnings: Vec<String>,
}

/// A preset by its name, or a policy's file, which is looked for in `folder`.
///
/// # Errors
///
/// A text that says which presets there are, or what is wrong with the file.
pub fn read_policy(name: &str, folder: &Path) -> Result<Named, String> {
    if let Some(preset) = named(name) {
        let mut read = from_toml(&preset.spec.to_toml())?;
        read.name = name.into();
        return Ok(read);
    }
    let path = folder.join(name);
    if path.extension().is_none() && !path.exists() {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        return Err(format!(
            "policy: there is no preset called \"{name}\", and no such file; presets are {}",
            known.join(", ")
        ));
    }
    let text = read(&path)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let policy = if is_json { from_json(&text) } else { from_toml(&text) };
    let mut named = policy.map_err(|why| format!("{}: {why}", path.display()))?;
    named.name =
        path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned());
    Ok(named)
}

fn from_toml(text: &str) -> Result<Named, String> {
    // Where there is a model, the rest is written again without it, and places are lost.
    let whole: Result<toml::Table, _> = toml::from_str(text);
    if let Ok(mut whole) = whole
        && let Some(model) = whole.remove("model")
    {
        let rest = toml::to_string(&whole).map_err(|error| error.to_string())?;
        let model: Model = model.try_into().map_err(|error| format!("[model]: {error}"))?;
        let mut named =
            of_settings(&Settings::from_toml(&rest).map_err(|error| error.to_string())?);
        named.policy.budget = model.budget();
        return Ok(named);
    }
    Ok(of_settings(&Settings::from_toml(text).map_err(|error| error.to_string())?))
}

fn from_json(text: &str) -> Result<Named, String> {
    let whole: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let is_service_config = ["methodConfig", "retryThrottling", "loadBalancingConfig"]
        .iter()
        .any(|key| whole.get(key).is_some());
    if is_service_config {
        let config = ServiceConfig::from_json(text).map_err(|error| error.to_string())?;
        return Ok(of_service_config(&config));
    }
    Ok(of_settings(&Settings::from_json(text).map_err(|error| error.to_string())?))
}

fn of_settings(settings: &Settings) -> Named {
    let call = settings.call_policy(ANY_METHOD);
    let (guard, open_jitter) = match settings.breaker() {
        Some(breaker) => (guard(breaker), open_jitter(settings)),
        None => (Guard::None, 0),
    };
    let budget =
        settings.throttle().map_or(Budget::None, |throttle| Budget::Shipped(throttle.policy()));
    let warnings = settings.warnings().iter().map(ToString::to_string).collect();
    let policy = Policy { call, guard, budget, open_jitter };
    Named { name: String::new(), policy, warnings }
}

/// The policy of the methods that have no entry of their own; where all have one, of the first.
fn of_service_config(config: &ServiceConfig) -> Named {
    let first = config.methods().next().map_or(ANY_METHOD, |(name, _)| name);
    let default = config.call_policy(ANY_METHOD);
    let is_default = *default.retry() == RetryPolicy::OFF || default == CallPolicy::DEFAULT;
    let call = if is_default { config.call_policy(first) } else { default };
    let budget = config.throttle().map_or(Budget::None, Budget::Shipped);
    let policy = Policy { call, guard: Guard::None, budget, open_jitter: 0 };
    let warnings = config.notes().iter().map(ToString::to_string).collect();
    Named { name: String::new(), policy, warnings }
}

fn guard(breaker: &Breaker) -> Guard {
    match breaker.rule() {
        BreakerRule::Consecutive(rule) => Guard::Consecutive(breaker.policy(rule, 0)),
        BreakerRule::LastN(rule) => Guard::LastN(breaker.policy(rule, 0)),
        BreakerRule::LastNs(rule) => Guard::LastNs(breaker.policy(rule, 0)),
        BreakerRule::TimeWindow(rule) => Guard::TimeWindow(breaker.policy(rule, 0)),
        BreakerRule::TimeWindows(rule) => Guard::TimeWindows(breaker.policy(rule, 0)),
    }
}

/// The spread of open times, which each simulated client draws with a seed of its own.
fn open_jitter(settings: &Settings) -> u16 {
    let written = toml::Value::try_from(settings).ok();
    let jitter = written.as_ref().and_then(|all| all.get("breaker")?.get("jitter")?.as_float());
    jitter.map_or(0, |share| (share * 1_000.0 + 0.5) as u16)
}

/// The section `[model]`.
#[derive(Deserialize)]
#[serde(tag = "budget", rename_all = "lowercase", deny_unknown_fields)]
enum Model {
    Aws { capacity: u32, cost: u32, timeout_cost: u32 },
    Envoy { percent: u32, min: u32, rounds_down: bool },
    Finagle { percent: u32, floor: u32, ttl: Span },
    MongoDb { capacity: u32, ratio: f64 },
}

impl Model {
    fn budget(self) -> Budget {
        match self {
            Self::Aws { capacity, cost, timeout_cost } => {
                Budget::Aws(Aws { capacity, cost, timeout_cost })
            }
            Self::Envoy { percent, min, rounds_down } => {
                Budget::Envoy(Envoy { percent, min, rounds_down })
            }
            Self::Finagle { percent, floor, ttl } => {
                Budget::Finagle(Finagle { percent, floor, ttl: ttl.0.as_micros() })
            }
            Self::MongoDb { capacity, ratio } => Budget::MongoDb(MongoDb {
                capacity: capacity.saturating_mul(1_000),
                ratio: (ratio * 1_000.0 + 0.5) as u32,
            }),
        }
    }
}

/// No method has this name, so it is given what those without an entry of their own are.
const ANY_METHOD: &str = "/any/Method";
