//! What a binary stands on that is linked and never run: a panic handler that cannot be linked,
//! and inputs about which the compiler knows nothing.
#![no_std]

mod any;
pub mod board;
mod settings;
pub mod uplink;

pub use any::{Any, any, blur};
pub use settings::Rule;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn a_panic_is_reachable() -> !;
    }
    // SAFETY: it is defined nowhere, so a binary in which this call is left does not exist.
    unsafe { a_panic_is_reachable() }
}
