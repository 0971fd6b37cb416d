//! Any async call under tokio: retries within a deadline, breakers, and a request budget that
//! follows the task.
//!
//! ```
//! use evenkeel_tokio::core::{CallPolicy, Clock, Deadline, Outcome};
//! use evenkeel_tokio::{Shared, TokioClock, call};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let billing = Shared::new(CallPolicy::DEFAULT);
//! let deadline = billing.call_policy().deadline(TokioClock.now(), Deadline::NONE);
//! let classify = |reply: &Result<u32, std::io::Error>| match reply {
//!     Ok(_) => Outcome::success(),
//!     Err(_) => Outcome::unavailable(),
//! };
//! let total = call(billing.view(), deadline, classify, async |_attempt| Ok(42)).await;
//! assert_eq!(total.unwrap(), 42);
//! # }
//! ```
//!
//! # What this crate does not do
//!
//! It decides nothing: the loop in `drive` has the core's three arms and no other `if`. It knows
//! no protocol; for gRPC use `evenkeel-tonic`. It spawns no task of its own.
//!
//! # Map
//!
//! `clock` (the only file that reads time), `driver` (how a call begins), `drive` (the loop),
//! `driven` (its three arms, for other adapters too), `hedged` (several attempts at once), `attempt`
//! (what an attempt's future is told), `budget` (the task-local and its helpers).
#![doc(test(attr(deny(warnings))))]

pub use evenkeel_std::core;
pub use evenkeel_std::{
    AnyRule, Error, Handle, Ledger, Lookup, Shared, SharedBreaker, SharedTable, SharedThrottle,
    View, fresh_seed,
};

mod attempt;
mod budget;
mod clock;
mod drive;
mod driven;
mod driver;
mod hedged;

pub use attempt::AttemptInfo;
pub use budget::{
    Budget, BudgetExt, RequestBudget, SharedBudget, WithBudget, current_budget, in_budget, spawn,
    trim, with_budget,
};
pub use clock::{SleepUntil, TokioClock, sleep_until};
pub use driven::Driven;
pub use driver::{call, call_seeded, call_within, until};
pub use hedged::call_hedged;
