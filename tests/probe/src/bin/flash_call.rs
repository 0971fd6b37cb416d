//! Calls with retries and backoff, one attempt at a time.
#![no_std]
#![no_main]

use core::hint::black_box;

use evenkeel_core::{Action, Call, CallPolicy, Deadline, Single, StopReason};
use evenkeel_probe::any;
use evenkeel_probe::board::{now, send, sleep_until};

static POLICY: CallPolicy = CallPolicy::DEFAULT;

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    loop {
        black_box(call());
    }
}

fn call() -> StopReason {
    // Hidden, so that no shape or branch is left out because of a setting's value.
    let policy = black_box(&POLICY);
    let mut call = Call::new(policy.deadline(now(), Deadline::NONE), any());
    loop {
        let mut upstream = Single::new(policy);
        match call.poll(now(), &mut upstream) {
            Action::Attempt(attempt) => {
                let outcome = send(attempt.deadline());
                call.complete(now(), &mut upstream, attempt, outcome);
            }
            Action::WaitUntil(at) => sleep_until(at),
            Action::Finish(reason) => return reason,
        }
    }
}
