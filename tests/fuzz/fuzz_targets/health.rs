//! Any bytes, as what a health service says.
#![no_main]

use evenkeel_tests::worlds::live;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| live("health", bytes));
