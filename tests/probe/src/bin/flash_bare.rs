//! The board alone, to be taken off from the others.
#![no_std]
#![no_main]

use core::hint::black_box;

use evenkeel_core::Deadline;
use evenkeel_probe::board::{now, send, sleep_until};

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    loop {
        black_box(send(Deadline::at(now())));
        sleep_until(now());
    }
}
