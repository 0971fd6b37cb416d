//! The scenarios of the core that are about whole calls, on this adapter: the same tests as in
//! `tests/tests/core_scenarios`, from the same files, with another `driver` underneath. There a call
//! is stepped by hand; here it is driven by [`evenkeel_embassy::drive`] over embassy's timers.
//!
//! Hedging is not among them: the driver has one attempt under way at a time.

mod driver;

#[path = "../../../../tests/tests/core_scenarios/policies.rs"]
mod policies;
#[path = "../../../../tests/tests/core_scenarios/pool.rs"]
mod pool;

#[path = "../../../../tests/tests/core_scenarios/breaker_and_retries.rs"]
mod breaker_and_retries;
#[path = "../../../../tests/tests/core_scenarios/codes.rs"]
mod codes;
#[path = "../../../../tests/tests/core_scenarios/faults_counting.rs"]
mod faults_counting;
#[path = "../../../../tests/tests/core_scenarios/faults_deadline.rs"]
mod faults_deadline;
#[path = "../../../../tests/tests/core_scenarios/pushback.rs"]
mod pushback;
#[path = "../../../../tests/tests/core_scenarios/retry.rs"]
mod retry;
#[path = "../../../../tests/tests/core_scenarios/schedule.rs"]
mod schedule;
#[path = "../../../../tests/tests/core_scenarios/sent.rs"]
mod sent;
#[path = "../../../../tests/tests/core_scenarios/throttle.rs"]
mod throttle;
#[path = "../../../../tests/tests/core_scenarios/timeout.rs"]
mod timeout;
