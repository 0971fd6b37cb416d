//! What threads share: the monotonic clock, breakers, keyed tables and throttles, and a driver for
//! code without async.
//!
//! The machines are those of `evenkeel-core`, unchanged; this crate puts them where threads can
//! reach them. It has no runtime and starts no thread, so that loom can exhaust it.
//!
//! ```
//! use evenkeel_std::core::{CallPolicy, Clock, Deadline, Outcome};
//! use evenkeel_std::{Shared, StdClock, call, fresh_seed};
//!
//! let sensor = Shared::new(CallPolicy::DEFAULT);
//! let deadline = sensor.call_policy().deadline(StdClock.now(), Deadline::NONE);
//! let classify = |reply: &Result<u8, std::io::Error>| match reply {
//!     Ok(_) => Outcome::success(),
//!     Err(_) => Outcome::unavailable(),
//! };
//! let seed = fresh_seed(); // another for each call, or all wait alike
//! let reading = call(&StdClock, sensor.view(), deadline, seed, classify, |_attempt| Ok(21));
//! assert_eq!(reading.unwrap(), 21);
//! ```
//!
//! # What this crate does not do
//!
//! It does not decide: every rule is in the core, and a shared breaker answers exactly as the
//! plain one would (a property test compares them). It cuts no blocking attempt off; give the
//! attempt's deadline to whatever blocks; [`call`] shows it for a socket.
//!
//! # Map
//!
//! `clock` (the only file that reads time), `epoch` (what a reading is), `breaker`, `throttle`, `table`, `shared` (an upstream
//! of one target), `rule`, `seed`, `driver` (the blocking loop, and how a call ends for a caller
//! without gRPC), `sync` (real or modelled primitives).
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
