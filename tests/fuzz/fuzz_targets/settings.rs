//! Any bytes, as a settings file, an environment, a service config and a target.
#![no_main]

use evenkeel_tests::worlds::live;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| live("settings", bytes));
