//! This file knows which headers gRPC speaks in; its modules read and write them.
//!
//! Everything below is a function from headers to values and back: no service, no clock, no state.
//! Whatever a peer sends is data here. It may be refused, but it never panics, never allocates
//! more than it weighs, and never turns into "no limit".

pub(crate) mod details;
pub(crate) mod pushback;
pub(crate) mod status;
pub(crate) mod timeout;

#[cfg(test)]
mod tests;
