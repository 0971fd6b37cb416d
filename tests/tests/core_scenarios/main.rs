//! Every scenario and every incident that the core decides by itself, in virtual time.
//!
//! The ids in the tests' names (`b1`, `r25`, `c38`, `g23`) are those of `docs/scenarios.md`; the
//! `f` ids are those of `docs/incidents.md`. One binary, so that nothing is compiled twice:
//! `cargo test -p evenkeel-tests --no-default-features --test core_scenarios r25` runs one of them.

mod circuit;
mod driver;
mod fleet;
mod policies;
mod pool;
mod probed;

mod backoff;
mod balancing;
mod breaker;
mod breaker_and_retries;
mod budget;
mod codes;
mod documented;
mod health;
mod hedging;
mod outliers;
mod pushback;
mod retry;
mod schedule;
mod sent;
mod stragglers;
mod table;
mod throttle;
mod timeout;
mod trials;
mod wait_for_ready;

mod faults_backoff;
mod faults_breaker;
mod faults_clock;
mod faults_counting;
mod faults_deadline;
mod faults_health;
mod faults_jitter;
mod faults_permits;
mod faults_settings;
mod faults_table;
mod faults_throttle;
mod faults_window;
