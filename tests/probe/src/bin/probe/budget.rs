//! This file knows the budget of a request and the throttle of an upstream.

use evenkeel_core::{BudgetPolicy, DeadlineBudget, Throttle, ThrottlePolicy};
use evenkeel_probe::{any, blur};

use crate::values::derived;

pub(crate) fn reach() {
    let policy: BudgetPolicy = any();
    let _ = BudgetPolicy::default();
    let _ = (BudgetPolicy::safety_margin(&policy), BudgetPolicy::min_timeout(&policy));
    if let Ok(budget) = DeadlineBudget::new(any(), any(), policy) {
        spend(&budget);
    }
    if let Some(budget) = DeadlineBudget::until(any(), any(), policy) {
        spend(&budget);
    }
    throttle();
}

fn spend(budget: &DeadlineBudget) {
    let _ = DeadlineBudget::grant(budget, any(), any(), any());
    let _ = DeadlineBudget::remaining(budget, any());
    let _ = DeadlineBudget::is_expired(budget, any());
    let _ = DeadlineBudget::total(budget);
    let _ = DeadlineBudget::deadline(budget);
    derived(budget);
}

fn throttle() {
    let policy: ThrottlePolicy = any();
    let mut throttle = Throttle::full(&policy);
    blur(&mut throttle);
    Throttle::record(&mut throttle, &any(), any(), &policy);
    let _ = Throttle::allow(&mut throttle, &policy);
    let _ = Throttle::millitokens(&throttle);
    let _ = ThrottlePolicy::max_millitokens(&policy);
    let _ = ThrottlePolicy::ratio(&policy);
    let _ = ThrottlePolicy::default();
    derived(&policy);
    derived(&throttle);
}
