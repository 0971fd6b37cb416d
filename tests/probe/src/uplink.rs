//! This file knows what a firmware does with all of it: calls under retries, each peer behind a
//! breaker of a table, trimmed by the budget of the request they serve.
//!
//! Policies are statics that the compiler sees, as in a firmware; the table is in `.bss`.

use core::hint::black_box;

use evenkeel_core::{
    Action, BreakerPolicy, BreakerTable, BudgetPolicy, Call, CallPolicy, Deadline, DeadlineBudget,
    Keyed, StopReason,
};

use crate::any;
use crate::board::{now, send, sleep_until};

static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
static BUDGET: BudgetPolicy = BudgetPolicy::DEFAULT;

/// Calls one of eight peers after the other, for ever.
///
/// Inlined, so that the image has the only copy of it, as a firmware would.
#[inline(always)]
pub fn run(policy: &CallPolicy) -> ! {
    static mut TABLE: BreakerTable<u16, 8> = BreakerTable::new();
    // SAFETY: `run` is called once, and nothing else knows the table.
    let Some(table) = (unsafe { (&raw mut TABLE).as_mut() }) else {
        loop {
            black_box(());
        }
    };
    loop {
        black_box(call(policy, table, any()));
    }
}

#[inline(always)]
fn call(policy: &CallPolicy, table: &mut BreakerTable<u16, 8>, peer: u16) -> Option<StopReason> {
    let budget = DeadlineBudget::until(now(), Deadline::at(now()), BUDGET)?;
    let granted = budget.grant(now(), any(), None).ok()?;
    let deadline = Deadline::at(now() + granted);
    let mut call = Call::new(policy.deadline(now(), deadline), any());
    loop {
        let mut upstream = Keyed::new(peer, policy, table, &BREAKER);
        match call.poll(now(), &mut upstream) {
            Action::Attempt(attempt) => {
                let outcome = send(attempt.deadline());
                call.complete(now(), &mut upstream, attempt, outcome);
            }
            Action::WaitUntil(at) => sleep_until(at),
            Action::Finish(reason) => return Some(reason),
        }
    }
}
