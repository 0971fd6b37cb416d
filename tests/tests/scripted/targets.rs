//! This file knows what `evenkeel_std` and `evenkeel_tokio` have in common: a target for each
//! method, and how a call ends for a caller without gRPC.

use std::collections::BTreeMap;

use evenkeel_core::{Code, Instant, Micros, Outcome, Snapshot};
use evenkeel_scripted::{Circuit, End, Look, METHODS, Scenario, Shows, What, When, why};
use evenkeel_std::{Error, Shared};

/// One target for each method, with a breaker and a throttle of its own.
#[derive(Debug)]
pub(crate) struct Targets(BTreeMap<&'static str, Shared>);

impl Targets {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let target = |method: &'static str| {
            let mut shared = Shared::new(scenario.call_policy(method));
            if let Some(policy) = scenario.breaker() {
                shared = shared.with_breaker(policy);
            }
            if let Some(policy) = scenario.throttle() {
                shared = shared.with_throttle(policy);
            }
            (method, shared)
        };
        Self(METHODS.into_iter().map(target).collect())
    }

    pub(crate) fn of(&self, method: &str) -> &Shared {
        &self.0[method]
    }

    /// What `look` shows now.
    pub(crate) fn show(&self, look: &Look, began: Instant) -> Look {
        let shows = match look.shows {
            Shows::Breaker(method, _) => {
                let circuit = |shown: Snapshot| Circuit::of(&shown, began);
                Shows::Breaker(method, self.of(method).breaker().map_or(Circuit::NEW, circuit))
            }
            Shows::Tokens(_) => {
                // There is no scenario in which two of these have a throttle.
                let throttle = self.of(METHODS[0]).throttle();
                Shows::Tokens(throttle.map_or(0, |throttle| throttle.millitokens()))
            }
        };
        Look { at: look.at, shows }
    }
}

/// How an attempt ended, by what a scenario said of it.
pub(crate) fn classify(reply: &Result<(), Outcome>) -> Outcome {
    match reply {
        Ok(()) => Outcome::success(),
        Err(outcome) => *outcome,
    }
}

/// How a call ended.
pub(crate) fn end(at: Micros, began: Instant, reply: Result<(), Error<Outcome>>) -> End {
    let (code, why) = match reply {
        Ok(()) => (Code::Ok, None),
        Err(Error::CircuitOpen { retry_at, .. }) => return End::refused(at, retry_at.since(began)),
        Err(Error::Peer { error, reason }) => (error.code, why(reason)),
        // Its error does not say why there was no further attempt.
        Err(_) => (Code::DeadlineExceeded, None),
    };
    End { at: When::at(at), what: What::Code(code), why }
}
