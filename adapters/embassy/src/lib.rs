#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! `clock` (the only file that reads time), `driver` (the loop of a call), `exchange` (an attempt
//! with a polite end), `error` (what a call brought when it brought no reply), `peers` (breakers
//! shared by tasks and interrupts), `supervisor` (the loop of a link), `watchdog`, `random`, `log`
//! (words for what the core decides; empty without the feature `defmt`).
#![no_std]
#![doc(test(attr(deny(warnings))))]

/// The core, so that who uses this crate needs no second dependency.
///
/// `use evenkeel_embassy::*` brings this `core` along: beside it `use core::` is ambiguous (E0659), and
/// any other `core::` means this crate. Import what you need by name, or write `::core`.
///
/// ```compile_fail,E0659
/// use core::time::Duration;
/// use evenkeel_embassy::*;
///
/// # let _ = (Duration::ZERO, EmbassyClock);
/// ```
///
/// ```
/// use ::core::time::Duration;
/// use evenkeel_embassy::*;
///
/// # let _ = (Duration::ZERO, EmbassyClock);
/// ```
pub use evenkeel_core as core;
pub use evenkeel_core::AttemptInfo;

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
pub use exchange::{CLOSE_LIMIT, Exchange};
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
