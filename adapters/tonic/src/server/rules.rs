//! This file knows what a server layer is told, and which budget follows from it for a request.

use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evenkeel_core::{
    BudgetExhausted as Spent, BudgetPolicy, Clock, Deadline, DeadlineBudget, Instant, Invalid,
    Micros,
};
use evenkeel_tokio::{RequestBudget, SharedBudget, TokioClock, current_budget};
use http::HeaderMap;

use crate::BudgetExhausted;
use crate::wire::timeout::{self, Timeout};

/// The settings of one layer, shared by everything it opens: a server clones its services for
/// each request.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) policy: BudgetPolicy,
    /// Incoming methods that get no budget.
    pub(super) exempt: HashSet<Box<str>>,
    /// What a request has that comes without a deadline.
    pub(super) total: Option<Micros>,
    /// At most this much for an outgoing call.
    caps: HashMap<Box<str>, Micros>,
}

/// A request that arrived too late.
#[derive(Debug)]
pub(super) struct Refused {
    /// What the caller left it.
    pub(super) left: Micros,
    /// What of that is kept for the way back.
    pub(super) margin: Micros,
    pub(super) exhausted: BudgetExhausted,
}

impl Rules {
    pub(super) fn cap(&mut self, method: &str, cap: Duration) -> Result<(), Invalid> {
        self.caps.insert(method.into(), Micros::positive_setting("budget.call_caps", cap)?);
        Ok(())
    }

    /// The budget a request of `method` runs in; `None` for none.
    pub(super) fn open(
        self: &Arc<Self>,
        method: &str,
        headers: &HeaderMap,
    ) -> Result<Option<SharedBudget>, Refused> {
        let outer = current_budget();
        let left = match timeout::read(headers) {
            Timeout::Value(left) => Some(left),
            Timeout::Absent | Timeout::Malformed => self.total,
        };
        let Some(left) = left.filter(|_| !self.exempt.contains(method)) else { return Ok(outer) };
        let now = TokioClock.now();
        // The header stands still while a budget runs: what the task has left is never widened.
        let left = outer.as_ref().map_or(left, |outer| left.shorter(outer.remaining(now)));
        let deadline = Deadline::at(now.after(left));
        let Some(budget) = DeadlineBudget::until(now, deadline, self.policy) else {
            return Ok(outer);
        };
        if budget.is_expired(now) {
            let (elapsed, total) = (Micros::ZERO, budget.total());
            let exhausted = BudgetExhausted { method: method.into(), elapsed, total };
            let margin = self.policy.safety_margin();
            return Err(Refused { left, margin, exhausted });
        }
        Ok(Some(Arc::new(Opened { budget, rules: Arc::clone(self) })))
    }
}

/// The budget of one request. Like [`evenkeel_tokio::Budget`], except that the caps are the
/// layer's: copied into each request they would cost an allocation per cap and call.
#[derive(Debug)]
struct Opened {
    budget: DeadlineBudget,
    rules: Arc<Rules>,
}

impl RequestBudget for Opened {
    fn grant(&self, now: Instant, method: &str, reserve: Micros) -> Result<Micros, Spent> {
        self.budget.grant(now, reserve, self.rules.caps.get(method).copied())
    }

    fn remaining(&self, now: Instant) -> Micros {
        self.budget.remaining(now)
    }
}
