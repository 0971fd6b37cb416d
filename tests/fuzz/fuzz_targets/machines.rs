//! Any bytes, as what happens to a call, a breaker or a table.
#![no_main]

// Not by the world's name: without services this target is built in a fraction of the time.
use evenkeel_tests::model::world::live;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(fault) = live(bytes) {
        panic!("{fault}");
    }
});
