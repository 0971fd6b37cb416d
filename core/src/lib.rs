#![doc = include_str!("../README.md")]
//!
//! # The picture
//!
//! ```text
//!                 poll ──▶ Attempt │ WaitUntil │ Finish
//!   driver ◀────────────────────────────────────────────── Call
//!     │           complete ──▶ Retry │ StillTrying │ Stop    │ lent for one step
//!     ▼                                                      ▼
//!   the wire                              Upstream: policy, breakers, throttle
//! ```
//!
#![doc = include_str!("../docs/laws.md")]
//!
//! # Map
//!
//! Each module may use those to its left: `invalid, time, rng → code, outcome, backoff, budget,
//! quantile, window → presets, retry, throttle, breaker → table, pick, reconnect → health, outlier,
//! balance → call → event`. Four more decide nothing, and any of these may use them: `num` and
//! `narrow` (products and conversions that fit every machine), `linked` (what an image can leave
//! out), `words` (what several messages say alike).
//!
//! Of the code only [`rng`] and [`presets`] are public as modules; everything else is re-exported
//! here. [`docs::driving`] says how to write a driver, with async or without a heap.
#![no_std]
#![doc(test(attr(deny(warnings), allow(dead_code))))]

#[macro_use]
mod invalid;

pub mod docs;
pub mod presets;
pub mod rng;

mod backoff;
mod balance;
mod breaker;
mod budget;
mod call;
mod code;
mod event;
mod health;
mod linked;
#[cfg(any(test, not(target_pointer_width = "64")))]
mod narrow;
mod num;
mod outcome;
mod outlier;
mod pick;
mod quantile;
mod reconnect;
mod retry;
mod table;
mod throttle;
mod time;
mod window;
mod words;

pub use backoff::{Backoff, Growth, Jitter};
pub use balance::{Balancer, Members, Strategy, WEIGHT_ONE, check_weights};
pub use breaker::{
    BreakerPolicy, BreakerState, CircuitBreaker, Gate, Passage, Permit, Rejected, Snapshot,
    Transition,
};
pub use budget::{BudgetExhausted, BudgetPolicy, DeadlineBudget};
pub use call::{Action, Attempt, AttemptInfo, Call, CallPolicy, Keyed, Next, Single, Upstream};
pub use code::{Code, CodeSet};
pub use event::Event;
pub use health::{Answer, Health, HealthChange, HealthPolicy, HealthWatch, Unimplemented};
pub use invalid::Invalid;
pub use outcome::{Outcome, Pushback, Report, Sent, Weight};
pub use outlier::{
    EjectionPolicy, FailurePercentage, Outlier, OutlierChange, OutlierPolicy, OutlierSweep,
    SuccessRate,
};
pub use pick::{Refusal, Standing, Target, Tried, pick};
pub use quantile::RunningQuantile;
pub use reconnect::{Dial, Escalation, Reconnect, ReconnectAction, ReconnectPolicy, Rung, Setback};
pub use retry::{Because, RetryPolicy, StopReason};
pub use rng::{Random, SmallRng};
pub use table::BreakerTable;
pub use throttle::{Throttle, ThrottlePolicy};
pub use time::{Clock, Deadline, Instant, Micros};
pub use window::{
    AnyOf, Bad, Consecutive, LastN, LastNMemory, TimeWindow, TimeWindowMemory, Trip, Verdict,
};
