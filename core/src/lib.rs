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
//! # Laws
//!
//! Each is a test of the same name in the workspace's `tests` package. Of a call:
//! `time_moves_on`, `attempts_are_bounded`, `no_attempt_outlives_the_call`,
//! `no_wait_outlives_the_call`, `polling_twice_changes_nothing`, `the_end_is_final`,
//! `a_late_answer_changes_nothing`, `same_seed_same_call`, `neighbouring_seeds_are_strangers`,
//! `a_clock_that_goes_back_stands_still`, `the_last_real_error_survives`. Of a breaker:
//! `open_admits_nobody_before_retry_at`, `trials_never_exceed_their_limit`,
//! `a_lost_trial_frees_itself`, `stragglers_change_nothing`, `cancellation_is_no_verdict`,
//! `getters_change_nothing`. Of a table: `never_more_than_n`,
//! `a_protecting_circuit_is_never_evicted`, `same_key_same_breaker`. Of a backoff:
//! `never_above_the_cap`, `jitter_keeps_its_range`, `jitter_survives_at_the_cap`,
//! `ceilings_never_shrink`. Of a budget: `a_deadline_is_never_widened`, `zero_is_not_none`. Of a
//! throttle: `granted_at_failure_time`, `ratio_is_exact`, `waiting_retries_count`. Of health checks:
//! `a_dead_target_is_asked_for_ever`,
//! `a_failing_target_is_never_asked_more_often_than_a_healthy_one`. Of a balancer:
//! `round_robin_is_even`, `no_neighbour_inherits_a_load`,
//! `everybody_who_may_be_asked_is_asked_once_before_a_refusal`. Of outliers:
//! `doubt_leaves_nobody_without_a_target`. Of a link:
//! `only_a_session_that_stayed_up_resets`, `a_lost_session_never_dials_at_once`,
//! `hints_only_lengthen`, `the_ladder_is_climbed_in_order`, and those of a call that have a meaning
//! for it. Of a running quantile: `it_is_the_exact_quantile_within_its_bounds`,
//! `it_follows_what_changes`. Of everything: `no_panic_is_reachable`, `no_overflow_in_any_profile`.
//!
//! # Map
//!
//! Each module may use those to its left: `invalid, time, rng → code, outcome, backoff, budget,
//! quantile, window → presets, retry, throttle, breaker → table, pick, reconnect → health, outlier,
//! balance → call → event`. Of the code only [`rng`] and [`presets`] are public as modules;
//! everything else is re-exported here. [`docs::driving`] says how to write a driver, with async or
//! without a heap.
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
