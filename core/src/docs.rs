//! This file knows the pages that go with the core; their examples are compiled and run.

#[doc = include_str!("../docs/driving.md")]
pub mod driving {}
