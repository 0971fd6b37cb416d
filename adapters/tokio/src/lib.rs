#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! `clock` (the only file that reads time), `driver` (how a call begins), `drive` (the loop),
//! `driven` (its three arms, for other adapters too), `hedged` (several attempts at once),
//! `budget` (the task-local and its helpers).
#![doc(test(attr(deny(warnings))))]

pub use evenkeel_std::core;
pub use evenkeel_std::core::AttemptInfo;
pub use evenkeel_std::{
    AnyRule, Error, Handle, Ledger, Lookup, Shared, SharedBreaker, SharedTable, SharedThrottle,
    View, fresh_seed,
};

mod budget;
mod clock;
mod drive;
mod driven;
mod driver;
mod hedged;

pub use budget::{
    Budget, BudgetExt, RequestBudget, SharedBudget, WithBudget, current_budget, in_budget, spawn,
    trim, with_budget,
};
pub use clock::{SleepUntil, TokioClock, sleep_until};
pub use driven::Driven;
pub use driver::{call, call_seeded, call_within, until};
pub use hedged::call_hedged;
