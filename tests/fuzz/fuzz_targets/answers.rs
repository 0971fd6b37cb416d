//! Any bytes, as what a server sends.
#![no_main]

use evenkeel_tests::answers::live;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(fault) = live(bytes) {
        panic!("{fault}");
    }
});
