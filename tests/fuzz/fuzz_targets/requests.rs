//! Any bytes, as the headers of a request to a server.
#![no_main]

use evenkeel_tests::worlds::live;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| live("requests", bytes));
