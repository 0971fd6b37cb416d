//! This file knows the keys of a scenario's file, in sections of fleet, server and fault, and what they
//! make of the standard outage.

use evenkeel_core::Micros;
use serde::Deserialize;

use super::{Span, counted};
use crate::scenario::{MOST_CALLS, TOO_MANY};
use crate::{Arrivals, Fault, FaultKind, Law, Order, Scenario, Unfit};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) policy: Option<String>,
    pub(super) method: Option<String>,
    pub(super) seeds: Option<u32>,
    pub(super) seed: Option<u64>,
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

#[derive(Clone, Copy, Deserialize, PartialEq)]
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

impl Raw {
    /// What is simulated; or all that is wrong with it.
    pub(super) fn scenario(&self) -> Result<Scenario, Vec<Unfit>> {
        let mut scenario = Scenario::outage(FaultKind::Stall);
        self.fault.place(&mut scenario.fault);
        let after = scenario.fault_end().plus(AFTER);
        scenario.end = self.end.map_or(after, |span| span.0);
        scenario.max_events = self.max_events.unwrap_or(scenario.max_events);
        let kind = self.fault.kind().map(|kind| scenario.fault.kind = kind);
        let fleet = self.fleet.apply(&mut scenario);
        let server = self.server.apply(&mut scenario);
        let own = [kind, fleet, server, self.check_counts()];
        let mut wrong: Vec<Unfit> =
            own.into_iter().chain(scenario.checks()).filter_map(Result::err).collect();
        if wrong.is_empty() {
            wrong.extend(scenario.check().and_then(|()| check_end(&scenario)).err());
        }
        // Without a key of its own, the end is beyond its bound because the fault is.
        if wrong.iter().any(|unfit| unfit.field() == "fault") && self.end.is_none() {
            wrong.retain(|unfit| unfit.field() != "end");
        }
        if wrong.is_empty() {
            return Ok(scenario);
        }
        Err(wrong.into_iter().map(|unfit| self.in_its_own_keys(unfit, &scenario)).collect())
    }

    fn check_counts(&self) -> Result<(), Unfit> {
        if self.max_events == Some(0) {
            return Err(Unfit::new("max_events", "must be above zero: nothing would be simulated"));
        }
        match self.seeds {
            Some(0 | 1_001..) => Err(Unfit::new("seeds", "must be from 1 to 1000")),
            _ => Ok(()),
        }
    }

    /// A run may be too large or too long because of several keys: it is said of one that the file
    /// has.
    fn in_its_own_keys(&self, unfit: Unfit, scenario: &Scenario) -> Unfit {
        if unfit.field() == "end" && self.end.is_none() {
            let why = "the run would end 330 s after it, and must end within 30 days; let the fault \
                       end sooner, or set end";
            return Unfit::new("fault", why);
        }
        let calls = scenario.calls();
        if unfit.field() != "fleet.rate" || !scenario.offered().is_finite() || calls <= MOST_CALLS {
            return unfit;
        }
        let keys = [
            ("fleet.rate", self.fleet.rate.is_some()),
            ("fleet.think", self.fleet.think.is_some()),
            ("end", self.end.is_some()),
            ("fault.length", self.fault.length.is_some()),
            ("fault.start", self.fault.start.is_some()),
        ];
        let key = keys.iter().find(|(_, is_there)| *is_there);
        let key = key.map_or("fleet.rate", |(name, _)| name);
        Unfit::new(key, format!("{} calls are {TOO_MANY}", counted(calls)))
    }
}

/// How long a run goes on after its fault.
const AFTER: Micros = Micros::from_millis(330_000);

/// Refuses a run in which no recovery could be seen: it would count as none.
fn check_end(scenario: &Scenario) -> Result<(), Unfit> {
    let over = scenario.fault_end();
    // Ten seconds, and one in which their calls end.
    if scenario.end >= over.plus(Micros::from_millis(11_000)) {
        return Ok(());
    }
    let fault = match scenario.fault.kind {
        FaultKind::None => "fault.start and fault.length, which for no fault, too, end",
        _ => "the fault, which ends",
    };
    let why = format!(
        "must be at least 11 s after {fault} at {} s: calls are good again when they are for ten \
         seconds in a row",
        over.as_micros() as f64 / 1e6
    );
    Err(Unfit::new("end", why))
}

impl RawFleet {
    fn apply(&self, scenario: &mut Scenario) -> Result<(), Unfit> {
        let fleet = &mut scenario.fleet;
        fleet.clients = self.clients.unwrap_or(fleet.clients);
        fleet.layers = self.layers.unwrap_or(1);
        fleet.propagates_deadlines = self.propagate_deadlines.unwrap_or(false);
        fleet.arrivals = match (self.rate, self.think) {
            (Some(_), Some(_)) => {
                return Err(Unfit::new("fleet.think", "is in place of fleet.rate; take one out"));
            }
            (None, Some(think)) if think.0 > Micros::from_millis(30 * 86_400_000) => {
                return Err(Unfit::new("fleet.think", "must be at most 30 days"));
            }
            (None, Some(think)) => Arrivals::Closed { think: think.0 },
            (Some(per_second), None) => Arrivals::Open { per_second },
            (None, None) => fleet.arrivals,
        };
        Ok(())
    }
}

impl RawServer {
    fn apply(&self, scenario: &mut Scenario) -> Result<(), Unfit> {
        let server = &mut scenario.server;
        server.workers = self.workers.unwrap_or(server.workers);
        server.service = self.service.map_or(server.service, |span| span.0);
        server.law = match (self.law.unwrap_or(RawLaw::Exponential), self.sigma) {
            (RawLaw::LogNormal, sigma) => Law::LogNormal { sigma: sigma.unwrap_or(1.0) },
            (_, Some(_)) => {
                return Err(Unfit::new("server.sigma", "belongs to law = \"log-normal\""));
            }
            (RawLaw::Constant, None) => Law::Constant,
            (RawLaw::Exponential, None) => Law::Exponential,
        };
        server.order = match (self.order.unwrap_or(RawOrder::Fifo), self.reserve) {
            (RawOrder::DropExpired, reserve) => {
                Order::DropExpired { reserve: reserve.unwrap_or_default().0 }
            }
            (_, Some(_)) => {
                return Err(Unfit::new("server.reserve", "belongs to order = \"drop-expired\""));
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
    fn kind(&self) -> Result<FaultKind, Unfit> {
        let kind = self.kind.unwrap_or(RawKind::Stall);
        let belongs = |field, to| Err(Unfit::new(field, format!("belongs to kind = \"{to}\"")));
        match (kind, self.capacity, self.share, self.setup) {
            (RawKind::Brownout, None, ..) => {
                let why = "kind = \"brownout\" needs it: the share of the capacity that is left, \
                           such as 0.3";
                Err(Unfit::new("fault.capacity", why))
            }
            (RawKind::Partial, _, None, _) => {
                let why = "kind = \"partial\" needs it: the share of the requests that fail, such \
                           as 0.3";
                Err(Unfit::new("fault.share", why))
            }
            (RawKind::Brownout, Some(capacity), None, None) => Ok(FaultKind::Brownout { capacity }),
            (RawKind::Partial, None, Some(share), None) => Ok(FaultKind::Partial { share }),
            (RawKind::Restart, None, None, setup) => Ok(FaultKind::Restart {
                setup: setup.map_or(Micros::from_millis(50), |span| span.0),
            }),
            (RawKind::BlackHole, None, None, None) => Ok(FaultKind::BlackHole),
            (RawKind::FailFast, None, None, None) => Ok(FaultKind::FailFast),
            (RawKind::None, None, None, None) => Ok(FaultKind::None),
            (RawKind::Stall, None, None, None) => Ok(FaultKind::Stall),
            (kind, Some(_), ..) if kind != RawKind::Brownout => {
                belongs("fault.capacity", "brownout")
            }
            (kind, _, Some(_), _) if kind != RawKind::Partial => belongs("fault.share", "partial"),
            _ => belongs("fault.setup", "restart"),
        }
    }

    fn place(&self, fault: &mut Fault) {
        fault.start = self.start.map_or(fault.start, |span| span.0);
        fault.length = self.length.map_or(fault.length, |span| span.0);
    }
}
