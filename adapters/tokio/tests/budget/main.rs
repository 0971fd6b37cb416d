//! What a request may still spend, and how it follows the task.

mod grants;
mod scope;

use core::time::Duration;
use std::sync::Arc;

use evenkeel_tokio::core::{BudgetPolicy, Clock, Deadline, Micros};
use evenkeel_tokio::{Budget, SharedBudget, TokioClock, current_budget, trim};
use tokio::time::sleep;

const FETCH: &str = "/shop.v1.Orders/Fetch";
const AUDIT: &str = "/shop.v1.Audit/Write";

fn of(millis: u64) -> Budget {
    Budget::new(Duration::from_millis(millis), BudgetPolicy::DEFAULT).unwrap()
}

fn shared(millis: u64) -> Option<SharedBudget> {
    Some(Arc::new(of(millis)))
}

/// What is left of the current task's budget, in milliseconds.
fn left() -> Option<u64> {
    Some(current_budget()?.remaining(TokioClock.now()).as_micros() / 1_000)
}

fn within(millis: u64) -> Deadline {
    Deadline::after(TokioClock.now(), Duration::from_millis(millis))
}

/// The milliseconds a call of `method` gets that would like `deadline`.
fn granted(method: &str, deadline: Deadline, reserve: u64) -> Option<u64> {
    let now = TokioClock.now();
    let deadline = trim(now, method, deadline, Micros::from_millis(reserve)).ok()?;
    Some(deadline.remaining(now).as_micros() / 1_000)
}

async fn work(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}
