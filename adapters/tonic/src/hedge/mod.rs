//! This file knows which methods are hedged: given another attempt beside one that has not
//! answered in time.
//!
//! Before changing it read "Hedging Policy" in gRPC A6, and Dean and Barroso, "The Tail at Scale".
//! What follows from what is the core's: the wait before a hedge, the failure that brings the next
//! one forward, the throttle, the breaker, the pushback. These files keep its attempts going.
//!
//! Why only what is on a list? A hedge executes twice although nothing failed. With retries a
//! method that must not be repeated is hurt now and then; with hedging it is hurt every day.

mod drive;
mod flights;
mod latency;
mod policy;

use std::collections::HashMap;

use evenkeel_settings::MethodConfig;
use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::{Clock, Instant, Micros};

pub(crate) use drive::{Hedge, hedge};
pub use policy::{HedgeDelay, HedgePolicy};

use crate::AllowList;
use latency::Latency;

/// The hedging block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hedges {
    /// For every method that may be executed twice.
    pub(crate) policy: Option<HedgePolicy>,
    /// `None` exempts a method.
    pub(crate) per_method: HashMap<Box<str>, Option<HedgePolicy>>,
    /// Which may be executed twice.
    pub(crate) idempotent: AllowList,
    /// Whether code asks for it, and not only a file.
    pub(crate) coded: bool,
}

impl Hedges {
    /// How the method with this full path is hedged, for which a service config says `config`.
    pub(crate) fn of(&self, path: &str, config: Option<&MethodConfig>) -> Option<HedgePolicy> {
        if !self.idempotent.contains(path) {
            return None;
        }
        let said = config.map(|config| (config.hedging(), config.retry()));
        match said {
            Some((Some(hedging), _)) => Some(hedging.into()),
            // A call is retried or hedged (A6), and what names the method wins.
            Some((None, Some(_))) => None,
            Some((None, None)) | None => self.per_method.get(path).copied().unwrap_or(self.policy),
        }
    }
}

/// Hedging as the calls of one method share it.
#[derive(Debug)]
pub(crate) struct Hedged {
    delay: Delay,
}

#[derive(Debug)]
enum Delay {
    Fixed(Micros),
    Measured(Box<Latency>),
}

impl Hedged {
    pub(crate) fn new(policy: &HedgePolicy) -> Self {
        let delay = match Latency::of(policy.delay()) {
            Some(latency) => Delay::Measured(Box::new(latency)),
            None => Delay::Fixed(policy.first_delay()),
        };
        Self { delay }
    }

    /// How long an attempt may take now before another is sent beside it.
    pub(crate) fn delay(&self) -> Micros {
        match &self.delay {
            Delay::Fixed(delay) => *delay,
            Delay::Measured(latency) => latency.delay(),
        }
    }

    /// Counts a first attempt that has been answered, or that the call has ended without. An
    /// attempt that lost counts with what it took until then: left out, only fast ones would be
    /// counted, the delay would shrink, and more of the slow ones would be left out.
    pub(crate) fn record_since(&self, started: Instant) {
        if let Delay::Measured(latency) = &self.delay {
            latency.record(TokioClock.now().since(started));
        }
    }
}
