//! Retries, deadlines, budgets and circuit breakers as pure state machines.
#![no_std]

#[cfg(test)]
extern crate std;

#[macro_use]
mod invalid;

pub mod rng;

mod backoff;
mod code;
mod num;
mod outcome;
mod time;

pub use backoff::{Backoff, Growth, Jitter};
pub use code::{Code, CodeSet};
pub use invalid::Invalid;
pub use outcome::{Outcome, Pushback, Report, Sent, Weight};
pub use rng::{Random, SmallRng};
pub use time::{Clock, Deadline, Instant, Micros};
