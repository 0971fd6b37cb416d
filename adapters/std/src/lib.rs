#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! `clock` (the only file that reads time), `epoch` (what a reading is), `breaker`, `throttle`,
//! `table`, `shared` (an upstream of one target), `rule`, `seed`, `driver` (the blocking loop, and
//! how a call ends for a caller without gRPC), `sync` (real or modelled primitives).
#![doc(test(attr(deny(warnings))))]

/// The machines and policies, so that one dependency is enough.
pub use evenkeel_core as core;

mod breaker;
mod clock;
mod driver;
mod epoch;
mod rule;
mod seed;
mod shared;
mod sync;
mod table;
mod throttle;

pub use breaker::SharedBreaker;
pub use clock::{BlockingClock, ManualClock, StdClock};
pub use driver::{Error, Ledger, call};
pub use epoch::Epoch;
pub use rule::{AnyMemory, AnyRule};
pub use seed::fresh_seed;
pub use shared::{Shared, View};
pub use table::{Handle, Lookup, SharedTable};
pub use throttle::SharedThrottle;
