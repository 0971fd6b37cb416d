//! Any bytes, as what a resolver answers, and what happens meanwhile.
#![no_main]

use evenkeel_tests::worlds::live;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| live("names", bytes));
