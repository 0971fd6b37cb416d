//! Nothing: the tests are in `tests/core.rs`, and cargo wants a library beside them.
#![no_std]
