//! A table of breakers for eight peers, opened by failures in a row.
#![no_std]
#![no_main]

use core::hint::black_box;

use evenkeel_core::{BreakerPolicy, BreakerTable, Deadline, Report, Weight};
use evenkeel_probe::any;
use evenkeel_probe::board::{now, send};

static POLICY: BreakerPolicy = BreakerPolicy::DEFAULT;

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // On the stack; in a static it would be in `.bss` and need nobody to clear it.
    let mut table = BreakerTable::new();
    loop {
        attempt(&mut table, any());
    }
}

fn attempt(table: &mut BreakerTable<u16, 8>, peer: u16) {
    // Hidden, so that no shape or branch is left out because of a setting's value.
    let policy = black_box(&POLICY);
    let (began, deadline) = (now(), Deadline::at(now()));
    match table.admit(began, peer, deadline, policy) {
        Ok(permit) => {
            let report = Report {
                outcome: send(deadline),
                took: now().since(began),
                weight: Weight::Counts,
            };
            black_box(table.record(now(), peer, permit, policy.verdict(&report), policy));
        }
        Err(rejected) => drop(black_box(rejected)),
    }
}
