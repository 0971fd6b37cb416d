//! Any bytes, as what happens to a call, a breaker or a table.
#![no_main]

use evenkeel_tests::worlds::live;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| live("machines", bytes));
