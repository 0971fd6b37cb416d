//! This file knows a scenario's file: sections of fleet, server and fault, and which policy.

use std::path::Path;

use evenkeel_core::Micros;
use serde::Deserialize;

use super::{Named, Span, read, read_policy};
use crate::{Arrivals, Fault, FaultKind, Law, Order, Scenario};

/// A scenario as it stands in a file.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// What is simulated.
    pub scenario: Scenario,
    /// Under which policy.
    pub policy: Named,
    /// How many seeds, the first of them [`seed`](Self::seed).
    pub seeds: u32,
    /// The first seed.
    pub seed: u64,
    /// The text it was read from.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    policy: Option<String>,
    seeds: Option<u32>,
    seed: Option<u64>,
    end: Option<Span>,
    max_events: Option<u64>,
    #[serde(default)]
    fleet: RawFleet,
    #[serde(default)]
    server: RawServer,
    #[serde(default)]
    fault: RawFault,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFleet {
    clients: Option<u32>,
    rate: Option<f64>,
    think: Option<Span>,
    layers: Option<u8>,
    propagate_deadlines: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    workers: Option<u32>,
    service: Option<Span>,
    law: Option<RawLaw>,
    sigma: Option<f64>,
    order: Option<RawOrder>,
    reserve: Option<Span>,
    queue_limit: Option<u32>,
    reject_cost: Option<Span>,
    network: Option<Span>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawLaw {
    Constant,
    Exponential,
    LogNormal,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawOrder {
    DropExpired,
    Fifo,
    Lifo,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFault {
    kind: Option<RawKind>,
    start: Option<Span>,
    length: Option<Span>,
    capacity: Option<f64>,
    share: Option<f64>,
    setup: Option<Span>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawKind {
    BlackHole,
    Brownout,
    FailFast,
    None,
    Partial,
    Restart,
    Stall,
}

impl ScenarioFile {
    /// Reads and checks the scenario at `path`; a policy's file is looked for beside it.
    ///
    /// # Errors
    ///
    /// A text that names the file, the place in it, and what would be right.
    pub fn read(path: &Path) -> Result<Self, String> {
        let source = read(path)?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&source, folder).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// Checks a scenario's text; a policy's file is looked for in `folder`.
    ///
    /// # Errors
    ///
    /// A text that names the place and what would be right.
    pub fn parse(source: &str, folder: &Path) -> Result<Self, String> {
        let raw: Raw = toml::from_str(source).map_err(|error| error.to_string())?;
        let mut scenario = Scenario::outage(raw.fault.kind()?);
        raw.fleet.apply(&mut scenario)?;
        raw.server.apply(&mut scenario)?;
        raw.fault.place(&mut scenario.fault);
        let after = scenario.fault_end().plus(Micros::from_millis(330_000));
        scenario.end = raw.end.map_or(after, |span| span.0);
        scenario.max_events = raw.max_events.unwrap_or(scenario.max_events);
        scenario.check().map_err(|unfit| unfit.to_string())?;
        let policy = read_policy(raw.policy.as_deref().unwrap_or("steady"), folder)?;
        let seeds = raw.seeds.unwrap_or(5);
        if seeds == 0 || seeds > 1_000 {
            return Err("seeds: must be from 1 to 1000".into());
        }
        let seed = raw.seed.unwrap_or(11);
        Ok(Self { scenario, policy, seeds, seed, source: source.into() })
    }

    /// With another policy than the file's: a preset, or a file that is looked for in `folder`.
    ///
    /// # Errors
    ///
    /// What [`read_policy`] says.
    pub fn use_policy(&mut self, name: &str, folder: &Path) -> Result<(), String> {
        self.policy = read_policy(name, folder)?;
        Ok(())
    }

    /// The seeds.
    pub fn seeds(&self) -> Vec<u64> {
        (0..u64::from(self.seeds)).map(|index| self.seed.wrapping_add(11 * index)).collect()
    }
}

impl RawFleet {
    fn apply(&self, scenario: &mut Scenario) -> Result<(), String> {
        let fleet = &mut scenario.fleet;
        fleet.clients = self.clients.unwrap_or(fleet.clients);
        fleet.layers = self.layers.unwrap_or(1);
        fleet.propagates_deadlines = self.propagate_deadlines.unwrap_or(false);
        fleet.arrivals = match (self.rate, self.think) {
            (Some(_), Some(_)) => {
                return Err("fleet: has a rate (open arrivals) and a think time (closed); one of \
                            the two must go"
                    .into());
            }
            (None, Some(think)) => Arrivals::Closed { think: think.0 },
            (Some(per_second), None) => Arrivals::Open { per_second },
            (None, None) => fleet.arrivals,
        };
        Ok(())
    }
}

impl RawServer {
    fn apply(&self, scenario: &mut Scenario) -> Result<(), String> {
        let server = &mut scenario.server;
        server.workers = self.workers.unwrap_or(server.workers);
        server.service = self.service.map_or(server.service, |span| span.0);
        server.law = match (self.law.unwrap_or(RawLaw::Exponential), self.sigma) {
            (RawLaw::LogNormal, sigma) => Law::LogNormal { sigma: sigma.unwrap_or(1.0) },
            (_, Some(_)) => return Err("server.sigma: belongs to law = \"log-normal\"".into()),
            (RawLaw::Constant, None) => Law::Constant,
            (RawLaw::Exponential, None) => Law::Exponential,
        };
        server.order = match (self.order.unwrap_or(RawOrder::Fifo), self.reserve) {
            (RawOrder::DropExpired, reserve) => {
                Order::DropExpired { reserve: reserve.unwrap_or_default().0 }
            }
            (_, Some(_)) => {
                return Err("server.reserve: belongs to order = \"drop-expired\"".into());
            }
            (RawOrder::Fifo, None) => Order::Fifo,
            (RawOrder::Lifo, None) => Order::Lifo,
        };
        server.queue_limit = self.queue_limit;
        server.reject_cost = self.reject_cost.unwrap_or_default().0;
        server.network = self.network.unwrap_or_default().0;
        Ok(())
    }
}

impl RawFault {
    fn kind(&self) -> Result<FaultKind, String> {
        let needs = |field: &str, kind: &str| format!("fault.{field}: kind = \"{kind}\" needs it");
        Ok(match self.kind.unwrap_or(RawKind::Stall) {
            RawKind::BlackHole => FaultKind::BlackHole,
            RawKind::Brownout => FaultKind::Brownout {
                capacity: self.capacity.ok_or_else(|| needs("capacity", "brownout"))?,
            },
            RawKind::FailFast => FaultKind::FailFast,
            RawKind::None => FaultKind::None,
            RawKind::Partial => {
                FaultKind::Partial { share: self.share.ok_or_else(|| needs("share", "partial"))? }
            }
            RawKind::Restart => FaultKind::Restart {
                setup: self.setup.map_or(Micros::from_millis(50), |span| span.0),
            },
            RawKind::Stall => FaultKind::Stall,
        })
    }

    fn place(&self, fault: &mut Fault) {
        fault.start = self.start.map_or(fault.start, |span| span.0);
        fault.length = self.length.map_or(fault.length, |span| span.0);
    }
}
