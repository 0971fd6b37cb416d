//! Both, and a budget that bounds the calls by what is left of a request's time.
#![no_std]
#![no_main]

use core::hint::black_box;

use evenkeel_core::{
    Action, BreakerPolicy, BreakerTable, BudgetPolicy, Call, CallPolicy, Deadline, DeadlineBudget,
    Keyed, StopReason,
};
use evenkeel_probe::any;
use evenkeel_probe::board::{now, send, sleep_until};

static CALL: CallPolicy = CallPolicy::DEFAULT;
static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
static BUDGET: BudgetPolicy = BudgetPolicy::DEFAULT;

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // On the stack; in a static it would be in `.bss` and need nobody to clear it.
    static mut TABLE: BreakerTable<u16, 8> = BreakerTable::new();
    // SAFETY: _start runs once.
    let table = unsafe { &mut *(&raw mut TABLE) };
    loop {
        black_box(call(table, any()));
    }
}

fn call(table: &mut BreakerTable<u16, 8>, peer: u16) -> Option<StopReason> {
    // Hidden, so that no shape or branch is left out because of a setting's value.
    let (policy, breaker) = (&CALL, &BREAKER);
    let budget = DeadlineBudget::until(now(), Deadline::at(now()), BUDGET)?;
    let granted = budget.grant(now(), any(), None).ok()?;
    let deadline = Deadline::at(now() + granted);
    let mut call = Call::new(policy.deadline(now(), deadline), any());
    loop {
        let mut upstream = Keyed::new(peer, policy, table, breaker);
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
