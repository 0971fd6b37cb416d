//! This file reads a request: what a person has chosen on the page.

use core::time::Duration;

use evenkeel_core::{Jitter, Micros};
use evenkeel_sim::presets::named;
use evenkeel_sim::spec::{BreakerSpec, BudgetSpec, RuleSpec, Spec};
use evenkeel_sim::{Arrivals, FaultKind, Law, Order, Scenario};

/// A request's lines.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Request<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { lines: text.lines().filter_map(|line| line.split_once('=')).collect() }
    }

    /// The value of a key; nothing if it is not there.
    pub(crate) fn text(&self, key: &str) -> &'a str {
        self.given(key).unwrap_or("")
    }

    /// The number a key has, or another one.
    pub(crate) fn number(&self, key: &str, otherwise: f64) -> f64 {
        self.given(key).and_then(number).unwrap_or(otherwise)
    }

    fn given(&self, key: &str) -> Option<&'a str> {
        let found = self.lines.iter().rev().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// A number that must be one, from `low` to `high`.
    fn within(
        &self,
        key: &'static str,
        low: f64,
        high: f64,
        otherwise: f64,
    ) -> Result<f64, String> {
        let Some(text) = self.given(key) else { return Ok(otherwise) };
        match number(text) {
            Some(value) if low <= value && value <= high => Ok(value),
            _ => Err(format!("{key}: must be a number from {} to {}", low as u64, high as u64)),
        }
    }

    fn millis(&self, key: &'static str, otherwise: f64) -> Result<Micros, String> {
        let millis = self.within(key, 0.0, LONGEST, otherwise)?;
        Ok(Micros::from_micros((millis * 1_000.0 + 0.5) as u64))
    }

    /// The policy: a preset, and what was changed of it.
    pub(crate) fn spec(&self) -> Result<Spec, String> {
        let preset = self.given("preset").unwrap_or("steady");
        let preset = named(preset).ok_or_else(|| format!("preset: {preset} is none"))?;
        let mut spec = preset.spec;
        let span = |key, otherwise: Duration| {
            self.millis(key, otherwise.as_micros() as f64 / 1_000.0).map(Micros::as_duration)
        };
        let retry = &mut spec.retry;
        retry.max_attempts =
            self.within("attempts", 1.0, 65_535.0, retry.max_attempts.into())? as u16;
        retry.initial = span("initial", retry.initial)?;
        retry.max = span("max", retry.max)?;
        retry.jitter = self.jitter(retry.jitter)?;
        if self.given("timeout").is_some() {
            spec.attempt_timeout = Some(span("timeout", Duration::ZERO)?);
        }
        if self.given("deadline").is_some() {
            spec.timeout = Some(span("deadline", Duration::ZERO)?);
        }
        spec.budget = match self.text("budget") {
            "" => spec.budget,
            "none" => BudgetSpec::None,
            "success" => BudgetSpec::SuccessRefilled(10, 100),
            "grpc" => BudgetSpec::Grpc(10, 100),
            _ => return Err("budget: must be none, success or grpc".into()),
        };
        spec.breaker = self.breaker(spec.breaker)?;
        Ok(spec)
    }

    fn jitter(&self, otherwise: Jitter) -> Result<Jitter, String> {
        Ok(match self.text("jitter") {
            "" => otherwise,
            "none" => Jitter::None,
            "full" => Jitter::Full,
            "equal" => Jitter::Equal,
            "decorrelated" => Jitter::Decorrelated,
            "10" => Jitter::Proportional(100),
            "20" => Jitter::Proportional(200),
            _ => return Err("jitter: must be none, full, equal, decorrelated, 10 or 20".into()),
        })
    }

    fn breaker(&self, otherwise: Option<BreakerSpec>) -> Result<Option<BreakerSpec>, String> {
        let window = Duration::from_secs(10);
        let rule = match self.text("breaker") {
            "" => return Ok(otherwise),
            "none" => return Ok(None),
            "consecutive" => RuleSpec::Consecutive(5),
            "share" => RuleSpec::TimeWindow { window, min_calls: 20, share: 50 },
            _ => return Err("breaker: must be none, consecutive or share".into()),
        };
        let open_for = self.millis("open", 5_000.0)?.as_duration();
        Ok(Some(BreakerSpec { rule, open_for, growth: None, jitter: 200, trials: 1 }))
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> Result<Scenario, String> {
        let mut scenario = Scenario::outage(self.fault_kind()?);
        let fleet = &mut scenario.fleet;
        fleet.clients = self.within("clients", 1.0, 1e6, 100.0)? as u32;
        fleet.layers = self.within("layers", 1.0, 5.0, 1.0)? as u8;
        fleet.arrivals = match self.text("arrivals") {
            "closed" => Arrivals::Closed { think: self.millis("think", 100.0)? },
            _ => Arrivals::Open { per_second: self.within("rate", 0.001, 1e6, 700.0)? },
        };
        self.server(&mut scenario)?;
        scenario.fault.start = Micros::from_millis(30_000);
        scenario.fault.length =
            Micros::from_micros((self.within("length", 0.0, 3_600.0, 30.0)? * 1e6) as u64);
        let after = self.within("after", 10.0, 3_600.0, 330.0)?;
        scenario.end = scenario.fault_end().plus(Micros::from_millis(after as u64 * 1_000));
        scenario.max_events = MOST_EVENTS;
        Ok(scenario)
    }

    fn server(&self, scenario: &mut Scenario) -> Result<(), String> {
        let server = &mut scenario.server;
        server.workers = self.within("workers", 1.0, 100_000.0, 10.0)? as u32;
        server.service = self.millis("service", 10.0)?;
        server.law = match self.text("law") {
            "constant" => Law::Constant,
            "log-normal" => Law::LogNormal { sigma: 1.0 },
            _ => Law::Exponential,
        };
        server.order = match self.text("order") {
            "lifo" => Order::Lifo,
            "drop-expired" => Order::DropExpired { reserve: self.millis("reserve", 50.0)? },
            _ => Order::Fifo,
        };
        if self.given("queue").is_some() {
            server.queue_limit = Some(self.within("queue", 0.0, 1e9, 0.0)? as u32);
        }
        server.reject_cost = self.millis("reject", 0.0)?;
        server.network = self.millis("network", 0.0)?;
        Ok(())
    }

    fn fault_kind(&self) -> Result<FaultKind, String> {
        let percent = |otherwise| self.within("part", 0.0, 100.0, otherwise);
        Ok(match self.text("fault") {
            "" | "stall" => FaultKind::Stall,
            "black-hole" => FaultKind::BlackHole,
            "fail-fast" => FaultKind::FailFast,
            "none" => FaultKind::None,
            "brownout" => FaultKind::Brownout { capacity: percent(30.0)? / 100.0 },
            "partial" => FaultKind::Partial { share: percent(30.0)? / 100.0 },
            "restart" => FaultKind::Restart { setup: Micros::from_millis(50) },
            _ => return Err("fault: is none of those the engine knows".into()),
        })
    }
}

/// A plain decimal number, without the tables that a general one needs.
fn number(text: &str) -> Option<f64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|letter| letter.is_ascii_digit());
    if text.len() > 18 || whole.is_empty() || !digits(whole) || !digits(rest) {
        return None;
    }
    let (mut value, mut unit) = (0.0, 1.0);
    for digit in whole.bytes().chain(rest.bytes()) {
        value = value * 10.0 + f64::from(digit - b'0');
    }
    for _ in rest.bytes() {
        unit *= 10.0;
    }
    Some(value / unit)
}

/// A day, in milliseconds.
const LONGEST: f64 = 86_400_000.0;
/// A few seconds of a browser's time.
const MOST_EVENTS: u64 = 20_000_000;
