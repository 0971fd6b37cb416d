//! Both, and a budget that bounds the calls by what is left of a request's time.
#![no_std]
#![no_main]

use evenkeel_core::CallPolicy;
use evenkeel_probe::uplink;

static CALL: CallPolicy = CallPolicy::DEFAULT;

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    uplink::run(&CALL)
}
