//! The core under embassy: a call with retries, a deadline and a breaker is an `async` closure, a
//! link that must stay up is a task, and none of it needs a heap.
//!
//! ```
//! use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
//! use evenkeel_embassy::core::{BreakerPolicy, CallPolicy, Clock, Deadline, Outcome};
//! use evenkeel_embassy::{EmbassyClock, Peers, call};
//!
//! static CALL: CallPolicy = CallPolicy::DEFAULT;
//! static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
//! // Eight peers; shared by every task, interrupt and executor of the program.
//! static PEERS: Peers<CriticalSectionRawMutex, u16, 8> = Peers::new();
//!
//! async fn read_sensor(address: u16, seed: u32) -> Option<u32> {
//!     let deadline = CALL.deadline(EmbassyClock.now(), Deadline::NONE);
//!     let classify = |reply: &Result<u32, BusError>| match reply {
//!         Ok(_) => Outcome::success(),
//!         Err(BusError) => Outcome::unavailable(),
//!     };
//!     let peer = PEERS.view(address, &CALL, &BREAKER);
//!     call(seed, peer, deadline, classify, async |_attempt| Ok(21)).await.ok()
//! }
//! # #[derive(Debug)] struct BusError;
//! # assert_eq!(simulated::run(read_sensor(0x48, 7)), Some(21));
//! ```
//!
//! # What this crate does not do
//!
//! It decides nothing: every loop has the arms of a core machine and no other `if` about attempts,
//! states or thresholds. It allocates nothing, spawns nothing, needs no atomics wider than a flag,
//! and chooses neither a time driver nor a critical section: the binary does.
//!
//! # Map
//!
//! `clock` (the only file that reads time), `driver` (the loop of a call), `exchange` (an attempt
//! with a polite end), `error` (what a call brought when it brought no reply), `peers` (breakers
//! shared by tasks and interrupts), `supervisor` (the loop of a link), `watchdog`, `random`, `log`
//! (words for what the core decides; empty without the feature `defmt`).
#![no_std]
#![doc(test(attr(deny(warnings))))]

pub use evenkeel_core as core;

mod clock;
mod driver;
mod error;
mod exchange;
mod log;
mod peers;
mod random;
mod supervisor;
mod watchdog;

pub use clock::{EmbassyClock, SleepUntil, micros_of, sleep_until, ticks_of, until};
pub use driver::{call, call_with, drive};
pub use error::Error;
pub use exchange::{AttemptInfo, CLOSE_LIMIT, Exchange};
pub use peers::{Peers, Tokens, View};
#[cfg(feature = "rand-core-06")]
pub use random::RandCore06;
#[cfg(feature = "rand-core-09")]
pub use random::RandCore09;
#[cfg(feature = "rand-core-10")]
pub use random::RandCore10;
pub use random::Seeds;
pub use supervisor::{Link, supervise};
pub use watchdog::{OnTime, Promise, feed_while_on_time};
