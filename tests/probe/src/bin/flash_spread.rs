//! The same with full jitter, which is what a device should use.
#![no_std]
#![no_main]

use evenkeel_core::{Backoff, CallPolicy, Jitter, RetryPolicy, checked};
use evenkeel_probe::uplink;

static CALL: CallPolicy = CallPolicy::DEFAULT.with_retry(RetryPolicy::DEFAULT.with_backoff(SPREAD));
const SPREAD: Backoff = checked!(Backoff::DEFAULT.with_jitter(Jitter::Full));

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    uplink::run(&CALL)
}
