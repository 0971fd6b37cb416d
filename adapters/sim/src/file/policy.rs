//! This file knows where a policy comes from: a preset, a settings file, or a gRPC service config.
//!
//! Files are read by `evenkeel-settings`, as the gRPC kit reads them, so what is simulated is what
//! will run. A section `[model]` of a preset's file says what the core does not ship.

use std::path::Path;

use evenkeel_settings::{Breaker, BreakerRule, ServiceConfig, Settings, SettingsError, in_quotes};
use serde::Deserialize;

use super::method::{self, Method};
use super::{Span, advice, endless, misread, place, read, taken};
use crate::models::{Aws, Envoy, Finagle, MongoDb};
use crate::presets::{PRESETS, named};
use crate::{Budget, Guard, Policy};

/// A policy with the name it was asked for by.
#[derive(Clone, Debug)]
pub struct Named {
    /// A preset's name, or the file's.
    pub name: String,
    /// The policy, as it holds for [`method`](Self::method).
    pub policy: Policy,
    /// The method that the simulated calls are to.
    pub method: Method,
    /// What looks wrong with it, though each setting is right by itself.
    pub warnings: Vec<String>,
    /// The text it was read from.
    pub source: String,
    is_json: bool,
}

impl Named {
    const fn new(policy: Policy, method: Method, warnings: Vec<String>) -> Self {
        Self {
            name: String::new(),
            policy,
            method,
            warnings,
            source: String::new(),
            is_json: false,
        }
    }

    /// Whether it sets nothing, so that nothing is retried, limited or broken.
    pub fn is_empty(&self) -> bool {
        let table: Result<toml::Table, _> = self.source.parse();
        let json: Result<serde_json::Map<String, serde_json::Value>, _> =
            serde_json::from_str(&self.source);
        table.map_or_else(|_| json.is_ok_and(|map| map.is_empty()), |table| table.is_empty())
    }

    /// Those of the warnings that are about what is simulated, and so about all its numbers.
    pub fn simulated_warnings(&self) -> Vec<String> {
        let mut warnings = endless::warnings(&self.policy);
        warnings.extend(self.method.warning());
        warnings
    }

    /// The same policy, as it holds for calls to another method: its full name, the last part of
    /// it, or a beginning such as "Get*".
    ///
    /// # Errors
    ///
    /// A text that says how a method is written.
    pub fn calling(self, method: &str) -> Result<Self, String> {
        let named =
            parse(&self.source, self.is_json, Some(method)).map_err(|all| all.join("\n"))?;
        Ok(Self { name: self.name, ..named })
    }
}

/// A preset by its name, or a policy's file, which is looked for in `folder`.
///
/// # Errors
///
/// A text that says which presets there are, or what is wrong with the file.
pub fn read_policy(name: &str, folder: &Path) -> Result<Named, String> {
    if let Some(preset) = named(name) {
        let read = parse(&preset.to_toml(), false, None).map_err(|all| all.join("\n"))?;
        return Ok(Named { name: name.into(), ..read });
    }
    let path = folder.join(name);
    if path.extension().is_none() && !path.exists() {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        return Err(format!(
            "policy: there is no preset called {}, and no such file; {}",
            in_quotes(&misread::shortened(name)),
            advice(name, &known)
        ));
    }
    let text = read(&path)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let named = parse(&text, is_json, None).map_err(|all| {
        if taken::has_keys_of_a_scenario(&text) {
            return format!("{} is a scenario, and a policy is needed here", path.display());
        }
        let all = all.iter().map(|why| format!("{}: {why}", path.display()));
        all.collect::<Vec<_>>().join("\n")
    })?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Named { name: stem.unwrap_or_else(|| name.into()), ..named })
}

/// A policy's text, as it holds for `method`; else all that is wrong with it.
fn parse(text: &str, is_json: bool, method: Option<&str>) -> Result<Named, Vec<String>> {
    let mut named = if is_json { from_json(text, method)? } else { from_toml(text, method)? };
    named.warnings.extend(named.simulated_warnings());
    (named.source, named.is_json) = (text.into(), is_json);
    Ok(named)
}

fn from_toml(text: &str, method: Option<&str>) -> Result<Named, Vec<String>> {
    // Where there is a model, the rest is written again without it.
    let whole: Result<toml::Table, _> = toml::from_str(text);
    if let Ok(mut whole) = whole
        && let Some(model) = whole.remove("model")
    {
        let rest = toml::to_string(&whole).map_err(|error| vec![error.to_string()])?;
        let model: Result<Model, toml::de::Error> = model.try_into();
        let model = model.map_err(|error| misread::model(error.message())).and_then(Model::checked);
        return match (model, Settings::from_toml(&rest)) {
            (Ok(model), Ok(settings)) => {
                let mut named = of_settings(&settings, method)?;
                named.policy.budget = model.budget();
                Ok(named)
            }
            (model, settings) => {
                let model = model.err().map(|why| place::of(text, "model", &why));
                let settings = settings.err().map(|_| beside_the_model(text));
                Err(model.into_iter().chain(settings.into_iter().flatten()).collect())
            }
        };
    }
    of_settings(&Settings::from_toml(text).map_err(|error| lines(&error))?, method)
}

/// What is wrong with the settings, where they stand in the text as it is.
fn beside_the_model(text: &str) -> Vec<String> {
    let Err(error) = Settings::from_toml(text) else { return Vec::new() };
    let problems = error.problems().iter().filter(|problem| problem.path() != "model");
    problems.map(ToString::to_string).collect()
}

fn from_json(text: &str, method: Option<&str>) -> Result<Named, Vec<String>> {
    let whole: Result<serde_json::Value, _> = serde_json::from_str(text);
    // The settings' own reader says the same with the place, and in words for people.
    let whole = whole.map_err(|error| match Settings::from_json(text) {
        Err(told) => lines(&told),
        Ok(_) => vec![error.to_string()],
    })?;
    let is_service_config = ["methodConfig", "retryThrottling", "loadBalancingConfig"]
        .iter()
        .any(|key| whole.get(key).is_some());
    if is_service_config {
        let config = ServiceConfig::from_json(text).map_err(|error| lines(&error))?;
        return of_service_config(&config, method);
    }
    of_settings(&Settings::from_json(text).map_err(|error| lines(&error))?, method)
}

/// Each problem is a line of its own.
fn lines(error: &SettingsError) -> Vec<String> {
    error.to_string().lines().map(Into::into).collect()
}

fn of_settings(settings: &Settings, asked: Option<&str>) -> Result<Named, Vec<String>> {
    let (method, call) = method::of_settings(settings, asked).map_err(|why| vec![why])?;
    let (guard, open_jitter) = match settings.breaker() {
        Some(breaker) => (guard(breaker), open_jitter(settings)),
        None => (Guard::None, 0),
    };
    let budget =
        settings.throttle().map_or(Budget::None, |throttle| Budget::Shipped(throttle.policy()));
    let warnings = settings.warnings().iter().map(ToString::to_string).collect();
    Ok(Named::new(Policy { call, guard, budget, open_jitter }, method, warnings))
}

fn of_service_config(config: &ServiceConfig, asked: Option<&str>) -> Result<Named, Vec<String>> {
    let (method, call) = method::of_service_config(config, asked).map_err(|why| vec![why])?;
    let budget = config.throttle().map_or(Budget::None, Budget::Shipped);
    let policy = Policy { call, guard: Guard::None, budget, open_jitter: 0 };
    let warnings = config.notes().iter().map(ToString::to_string).collect();
    Ok(Named::new(policy, method, warnings))
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
    /// Refuses a number that none of the models is made for.
    fn checked(self) -> Result<Self, String> {
        match self {
            Self::MongoDb { ratio, .. } if !(0.0..=1_000.0).contains(&ratio) => {
                Err(format!("[model]: ratio must be a number from 0 to 1000, and is {ratio}"))
            }
            same => Ok(same),
        }
    }

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
