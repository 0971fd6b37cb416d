//! This file knows the law of dead work: attempts × load = 1.
//!
//! A server that takes the oldest request first, whether anybody still waits for it or not, is late
//! for the next as well once it is late for one. Where each call then makes all its attempts, and
//! they are more than the server can do, it stays so.

use evenkeel_core::Micros;

use super::call::expiring_attempts;
use crate::{Arrivals, Budget, FaultKind, Guard, Order, Policy, Scenario};

/// The load, as a share of the capacity, above which a server that has come to be late for every
/// attempt never recovers.
///
/// `None` where there is no such law: the server drops dead work, takes the youngest first or lets
/// few wait; attempts do not run into a limit of their own in this fault; retries are throttled, or a
/// breaker holds them back; a call that runs into its time makes one attempt; calls go through
/// layers, or come from clients that think.
///
/// ```
/// use evenkeel_sim::{FaultKind, Scenario, hopeless_load, presets::named};
///
/// let naive = named("naive").map(|preset| preset.policy()).unwrap(); // four attempts
/// assert_eq!(hopeless_load(&Scenario::outage(FaultKind::Stall), &naive), Some(0.25));
/// assert_eq!(hopeless_load(&Scenario::outage(FaultKind::FailFast), &naive), None);
/// ```
pub fn hopeless_load(scenario: &Scenario, policy: &Policy) -> Option<f64> {
    let Scenario { fleet, server, fault, .. } = scenario;
    let executes_dead_work = matches!(server.order, Order::Fifo) && server.queue_limit.is_none();
    let is_late =
        matches!(fault.kind, FaultKind::BlackHole | FaultKind::Brownout { .. } | FaultKind::Stall);
    let expires = policy.call.attempt_timeout() < Micros::SETTING_END;
    let unbounded = matches!((policy.budget, policy.guard), (Budget::None, Guard::None));
    let offered = matches!(fleet.arrivals, Arrivals::Open { .. }) && fleet.layers == 1;
    if !(executes_dead_work && is_late && expires && unbounded && offered) {
        return None;
    }
    let attempts = expiring_attempts(policy);
    (attempts > 1.0).then(|| 1.0 / attempts)
}

/// Whether what was not over when a run ended is over never, by that law.
pub(crate) fn is_hopeless(scenario: &Scenario, policy: &Policy) -> bool {
    let load = scenario.offered() / scenario.capacity();
    hopeless_load(scenario, policy).is_some_and(|most| load > most)
}
