//! Reaches every public function of the core with inputs the compiler cannot foresee. It links
//! only if no panic is reachable, and is never run: that it exists is the result.
//!
//! Functions are called by their full name, `Type::function`, so that `names` can tell which one
//! is missing. What they return needs no looking at: a call that may panic is never optimised out.
#![no_std]
#![no_main]

mod breaker;
mod budget;
mod call;
mod health;
mod reconnect;
mod table;
mod text;
mod values;

#[cfg(any(feature = "control-index", feature = "control-overflow"))]
mod control;

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    loop {
        values::reach();
        budget::reach();
        breaker::reach();
        table::reach();
        call::reach();
        health::reach();
        reconnect::reach();
        text::reach();
        #[cfg(any(feature = "control-index", feature = "control-overflow"))]
        control::reach();
    }
}
