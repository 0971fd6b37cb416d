//! This file knows what the layers make of one call before anything is sent: its timeout, what its
//! request's budget leaves of it, and whether it waits for a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_core::{Action, Call, CallPolicy, Deadline, Instant, Invalid, Micros, Single};
use evenkeel_tokio::{in_budget, trim};
use serde::Deserialize;

use super::{Kind, Rule, Rules, Seconds, budget};

/// The settings of one call, as they are when it goes out.
pub(super) enum Details {}

impl Kind for Details {
    type Scenario = Scenario;
    type Trace = Step;
    type Step = Step;

    const RULES: &'static [Rule] = &[];

    fn kit(scenario: &Scenario, _rules: Rules) -> Step {
        scenario.kit()
    }

    fn ours(scenario: &Scenario) -> Result<Step, Invalid> {
        scenario.ours()
    }

    fn steps(trace: Step) -> Vec<Step> {
        vec![trace]
    }

    /// Of the message: the method it names and its numbers.
    fn comparable(mut step: Step) -> Step {
        step.message = step.message.map(|message| {
            let method = message.split([' ', ':']).find(|word| word.starts_with('/'));
            format!("{} {}", method.unwrap_or_default(), budget::after_colon(&message))
        });
        step
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    method: String,
    /// What the caller set on the call.
    call_timeout: Option<Seconds>,
    call_wfr: Option<bool>,
    timeout: Option<Timeouts>,
    wfr: Option<WaitForReady>,
    /// The reserve of the budget block. Absent: there is no such block.
    budget_layer: Option<Seconds>,
    budget: Option<Terms>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Timeouts {
    default: Option<Seconds>,
    per_method: BTreeMap<String, Option<Seconds>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    total: Seconds,
    min_timeout: Seconds,
    caps: Option<budget::Caps>,
    /// What is spent of it when the call is made.
    spent: Seconds,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    result: String,
    message: Option<String>,
    timeout: Option<Seconds>,
    wait_for_ready: Option<bool>,
}

/// The block that lets calls wait until there is a connection.
///
/// A rule for the gRPC adapter, which will have its own; here so that the recordings check it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitForReady {
    /// For methods without an entry of their own; `None` leaves calls as they come.
    pub default: Option<bool>,
    /// By full name; `None` exempts the method.
    pub per_method: BTreeMap<String, Option<bool>>,
    /// Whether only calls with a deadline may wait.
    pub require_deadline: bool,
}

/// Whether a call waits for a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Readiness {
    /// As the caller left it: nothing is configured, or the caller decided.
    AsCalled,
    /// It fails at once without a connection.
    FailFast,
    /// It is left to fail at once, because nothing would ever end its wait: worth one warning.
    NoDeadline,
    /// It waits for one until its deadline.
    Wait,
}

impl WaitForReady {
    /// What becomes of a call of `method` with this `deadline`, on which the caller set `caller`.
    pub fn resolve(&self, method: &str, caller: Option<bool>, deadline: Deadline) -> Readiness {
        let configured = self.per_method.get(method).unwrap_or(&self.default);
        match (caller, configured) {
            (Some(_), _) | (None, None) => Readiness::AsCalled,
            (None, Some(false)) => Readiness::FailFast,
            (None, Some(true)) if self.require_deadline && deadline.is_none() => {
                Readiness::NoDeadline
            }
            (None, Some(true)) => Readiness::Wait,
        }
    }
}

impl Scenario {
    fn ours(&self) -> Result<Step, Invalid> {
        let began = self.budget.as_ref().map_or(Instant::ZERO, |terms| terms.spent.instant());
        let policy = match self.configured_timeout().and_then(Seconds::duration) {
            Some(timeout) => CallPolicy::DEFAULT.with_timeout(timeout)?,
            None => CallPolicy::DEFAULT.unbounded(),
        };
        let caller = self
            .call_timeout
            .map_or(Deadline::NONE, |timeout| Deadline::at(began + timeout.micros()));
        let mut deadline = policy.deadline(began, caller);
        if let (Some(reserve), Some(terms)) = (self.budget_layer, &self.budget) {
            let margin = Seconds::ZERO;
            let budget = budget::open(terms.total, margin, terms.min_timeout, terms.caps.as_ref())?;
            let trimmed = in_budget(Some(Arc::new(budget)), || {
                trim(began, &self.method, deadline, reserve.micros())
            });
            deadline = match trimmed {
                Ok(deadline) => deadline,
                Err(spent) => {
                    return Ok(Step::refused(format!("{}: {spent}", self.method)));
                }
            };
        }
        Ok(self.sent(began, deadline, &policy))
    }

    /// What the call is like when it goes out, if the machine lets it.
    fn sent(&self, now: Instant, deadline: Deadline, policy: &CallPolicy) -> Step {
        let action = Call::new(deadline, 0).poll(now, &mut Single::new(policy));
        let Action::Attempt(attempt) = action else {
            return Step { result: format!("{action:?}"), ..Step::default() };
        };
        let slice = attempt.deadline().remaining(now);
        let readiness = self.wfr.as_ref().map_or(Readiness::AsCalled, |block| {
            block.resolve(&self.method, self.call_wfr, deadline)
        });
        Step {
            result: "OK".into(),
            message: None,
            timeout: (slice < Micros::MAX).then(|| slice.into()),
            wait_for_ready: match readiness {
                Readiness::AsCalled | Readiness::NoDeadline => self.call_wfr,
                Readiness::FailFast => Some(false),
                Readiness::Wait => Some(true),
            },
        }
    }

    fn kit(&self) -> Step {
        let configured = self.configured_timeout();
        let mut timeout = self.call_timeout.into_iter().chain(configured).min();
        if let (Some(reserve), Some(terms)) = (self.budget_layer, &self.budget) {
            let left = terms.total - terms.spent;
            let cap = terms.caps.as_ref().and_then(|caps| caps.get(&self.method)).copied();
            let granted = budget::kit_grants(left, reserve, terms.min_timeout, cap);
            let Some(granted) = granted else {
                let numbers = budget::told(terms.spent, terms.total);
                let reason = format!("Request deadline exceeded: {numbers}");
                let method = &self.method;
                return Step::refused(format!(
                    "Deadline budget exhausted before {method}: {reason}"
                ));
            };
            timeout = timeout.into_iter().chain([granted]).min();
        }
        let mut wait_for_ready = self.call_wfr;
        if let (None, Some(block)) = (wait_for_ready, &self.wfr) {
            let configured = *block.per_method.get(&self.method).unwrap_or(&block.default);
            let endless = block.require_deadline && timeout.is_none();
            wait_for_ready = configured.filter(|wait| !(*wait && endless));
        }
        Step { result: "OK".into(), message: None, timeout, wait_for_ready }
    }

    /// The configured timeout of the method. Zero is the kit's word for "none"; ours is `None`.
    fn configured_timeout(&self) -> Option<Seconds> {
        let block = self.timeout.as_ref()?;
        let configured = block.per_method.get(&self.method).unwrap_or(&block.default);
        configured.filter(|timeout| *timeout > Seconds::ZERO)
    }
}

impl Step {
    fn refused(message: String) -> Self {
        Self { result: "BUDGET_EXHAUSTED".into(), message: Some(message), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: WaitForReady =
        WaitForReady { default: Some(true), per_method: BTreeMap::new(), require_deadline: true };

    /// The recordings show that such a call is left alone, but not that it is told from one whose
    /// caller decided.
    #[test]
    fn a_wait_that_nothing_bounds_is_told_apart() {
        assert_eq!(WAITS.resolve("/p.S/M", None, Deadline::NONE), Readiness::NoDeadline);
        assert_eq!(WAITS.resolve("/p.S/M", Some(true), Deadline::NONE), Readiness::AsCalled);
        let bounded = Deadline::at(Instant::from_micros(1));
        assert_eq!(WAITS.resolve("/p.S/M", None, bounded), Readiness::Wait);
    }
}
