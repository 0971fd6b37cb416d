//! This file knows which scenarios cannot be simulated, or not in reasonable time.

use super::{Arrivals, FaultKind, Law, Scenario};
use crate::Unfit;

impl Scenario {
    /// Refuses what cannot be simulated, or not in reasonable time.
    ///
    /// # Errors
    ///
    /// Names the field and what would be right.
    pub fn check(&self) -> Result<(), Unfit> {
        self.check_fleet()?;
        self.check_server()?;
        self.check_fault()?;
        self.check_end()?;
        if self.calls() > MOST_CALLS {
            return Err(Unfit::new("fleet.rate", TOO_MANY));
        }
        Ok(())
    }

    /// Each part by itself, for who wants to know all that is wrong with it.
    #[cfg(feature = "command")]
    pub(crate) fn checks(&self) -> [Result<(), Unfit>; 4] {
        [self.check_fleet(), self.check_server(), self.check_fault(), self.check_end()]
    }

    /// How many calls a run has.
    pub(crate) fn calls(&self) -> f64 {
        self.offered() * self.end.as_micros() as f64 / 1e6 * f64::from(self.fleet.layers)
    }

    fn check_fleet(&self) -> Result<(), Unfit> {
        let fleet = &self.fleet;
        let rate_is_right = match fleet.arrivals {
            Arrivals::Open { per_second } => per_second.is_finite() && per_second > 0.0,
            Arrivals::Closed { think } => think.as_micros() <= LONGEST,
        };
        if !rate_is_right {
            return Err(Unfit::new(
                "fleet.rate",
                "must be a number of calls per second above zero",
            ));
        }
        if fleet.clients == 0 || fleet.clients > MOST_CLIENTS {
            return Err(Unfit::new("fleet.clients", "must be from 1 to 5000000"));
        }
        if fleet.layers == 0 || fleet.layers > 5 {
            return Err(Unfit::new("fleet.layers", "must be from 1 (a direct client) to 5"));
        }
        Ok(())
    }

    fn check_server(&self) -> Result<(), Unfit> {
        let server = &self.server;
        if server.workers == 0 || server.workers > MOST_WORKERS {
            let why = "must be from 1 to 1000000; for a server that serves nothing use a fault";
            return Err(Unfit::new("server.workers", why));
        }
        if server.service.as_micros() > LONGEST {
            return Err(Unfit::new("server.service", "must be at most 30 days"));
        }
        if server.reject_cost.as_micros() > LONGEST || server.network.as_micros() > LONGEST {
            return Err(Unfit::new("server", "must not take longer than 30 days to answer"));
        }
        match server.law {
            Law::LogNormal { sigma } if !(0.0..=5.0).contains(&sigma) => {
                Err(Unfit::new("server.sigma", "must be from 0 to 5"))
            }
            Law::Constant | Law::Exponential | Law::LogNormal { .. } => Ok(()),
        }
    }

    fn check_fault(&self) -> Result<(), Unfit> {
        let fault = &self.fault;
        if self.fault_end().as_micros() > LONGEST {
            return Err(Unfit::new("fault", "must begin and end within 30 days"));
        }
        match fault.kind {
            FaultKind::Brownout { capacity } if !(capacity > 0.0 && capacity < 1.0) => {
                let why = "must be above 0 and below 1; for no capacity at all use a stall";
                Err(Unfit::new("fault.capacity", why))
            }
            FaultKind::Partial { share } if !(0.0..=1.0).contains(&share) => {
                Err(Unfit::new("fault.share", "must be from 0 to 1"))
            }
            FaultKind::Restart { setup } if setup.as_micros() > LONGEST => {
                Err(Unfit::new("fault.setup", "must be at most 30 days"))
            }
            _ => Ok(()),
        }
    }

    fn check_end(&self) -> Result<(), Unfit> {
        match self.end.as_micros() {
            1..=LONGEST => Ok(()),
            _ => Err(Unfit::new("end", "must be longer than zero and at most 30 days")),
        }
    }
}

const LONGEST: u64 = 30 * 86_400 * 1_000_000;
const MOST_CLIENTS: u32 = 5_000_000;
const MOST_WORKERS: u32 = 1_000_000;
pub(crate) const MOST_CALLS: f64 = 2e7;
pub(crate) const TOO_MANY: &str = "more than the 20 million calls a run may have; lower the rate or shorten \
                        the run: results depend on load over capacity, not on either alone";
