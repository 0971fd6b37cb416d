//! This file writes a scenario as the file that the command reads.

use core::fmt::Write as _;

use evenkeel_core::Micros;

use super::toml::span;
use crate::plot::float;
use crate::{Arrivals, FaultKind, Law, Order, Scenario};

impl Scenario {
    /// As a scenario's file, with `policy` as its policy.
    pub fn to_toml(&self, policy: &str) -> String {
        let micros = |time: Micros| span(time.as_duration());
        let mut text = format!("policy = \"{policy}\"\nend = {}\n\n[fleet]\n", micros(self.end));
        let _ = writeln!(text, "clients = {}", self.fleet.clients);
        let _ = match self.fleet.arrivals {
            Arrivals::Closed { think } => writeln!(text, "think = {}", micros(think)),
            Arrivals::Open { per_second } => writeln!(text, "rate = {}", float(per_second)),
        };
        let _ = writeln!(text, "layers = {}", self.fleet.layers);
        if self.fleet.propagates_deadlines {
            text += "propagate_deadlines = true\n";
        }
        self.write_server(&mut text);
        let (kind, detail) = match self.fault.kind {
            FaultKind::BlackHole => ("black-hole", String::new()),
            FaultKind::Brownout { capacity } => {
                ("brownout", format!("capacity = {}\n", float(capacity)))
            }
            FaultKind::FailFast => ("fail-fast", String::new()),
            FaultKind::None => ("none", String::new()),
            FaultKind::Partial { share } => ("partial", format!("share = {}\n", float(share))),
            FaultKind::Restart { setup } => ("restart", format!("setup = {}\n", micros(setup))),
            FaultKind::Stall => ("stall", String::new()),
        };
        let _ = write!(
            text,
            "\n[fault]\nkind = \"{kind}\"\nstart = {}\nlength = {}\n{detail}",
            micros(self.fault.start),
            micros(self.fault.length)
        );
        text
    }

    fn write_server(&self, text: &mut String) {
        let server = &self.server;
        let micros = |time: Micros| span(time.as_duration());
        let (law, sigma) = match server.law {
            Law::Constant => ("constant", String::new()),
            Law::Exponential => ("exponential", String::new()),
            Law::LogNormal { sigma } => ("log-normal", format!("sigma = {}\n", float(sigma))),
        };
        let (order, reserve) = match server.order {
            Order::DropExpired { reserve } => {
                ("drop-expired", format!("reserve = {}\n", micros(reserve)))
            }
            Order::Fifo => ("fifo", String::new()),
            Order::Lifo => ("lifo", String::new()),
        };
        let _ = write!(
            text,
            "\n[server]\nworkers = {}\nservice = {}\nlaw = \"{law}\"\n{sigma}order = \"{order}\"\n\
             {reserve}",
            server.workers,
            micros(server.service)
        );
        if let Some(limit) = server.queue_limit {
            let _ = writeln!(text, "queue_limit = {limit}");
        }
        if !server.reject_cost.is_zero() {
            let _ = writeln!(text, "reject_cost = {}", micros(server.reject_cost));
        }
        if !server.network.is_zero() {
            let _ = writeln!(text, "network = {}", micros(server.network));
        }
    }
}
