#![doc = include_str!("../README.md")]
//!
//! # The picture
//!
//! ```text
//!   Scenario ──▶ World: Agenda of events ──▶ Run (counts per second) ──▶ Summary, Figures, Report
//!                  │            │
//!        parked Calls (core)   Server: workers, queue, fault
//!                  │
//!        breakers and throttles (core), or models of what others do
//! ```
//!
//! # Laws
//!
//! The same seed gives the same record on every platform, in debug and release builds and in wasm
//! ([`validate::platform`]): integers, or the IEEE operations that are exact, and no mathematics
//! library. What is known from elsewhere comes out: [`validate`], or `evenkeel validate`.
//!
//! # Map
//!
//! [`run`] and [`Scenario`] are the fleet, with the feature `rehearse` one client of it plays a script; [`contest`], [`Storm`] and [`batch_makespan`] three other
//! worlds. [`Policy`] is what a client runs, [`spec`] the same as a person writes it, [`presets`]
//! those with names, [`models`] what the core does not ship. [`Summary`], [`Map`], [`figures()`] and
//! [`Report`] are for people. With the feature `command` (on by default), files are read, too.
#![doc(test(attr(deny(warnings))))]

pub mod models;
pub mod presets;
pub mod spec;
pub mod validate;

mod agenda;
mod calls;
mod chance;
mod channel;
mod clients;
mod contest;
mod figures;
#[cfg(feature = "command")]
mod file;
mod map;
mod plot;
mod policy;
mod record;
#[cfg(feature = "rehearse")]
mod rehearsal;
#[cfg(not(feature = "rehearse"))]
#[path = "unrehearsed.rs"]
mod rehearsal;
mod report;
mod runs;
mod scenario;
mod server;
mod storm;
mod summary;
mod tally;
mod transit;
mod unfit;
mod world;

pub use agenda::Agenda;
pub use chance::{Chance, exp, ln, subseed};
pub use channel::{batch_makespan, saturated_throughput};
pub use contest::{Contest, contest, original_waits};
pub use figures::{Axes, Figure, figures, figures_on, hopeless_load, map_figure, style};
#[cfg(feature = "command")]
pub use file::{
    Method, Named, ScenarioFile, advice, counted, is_policy, is_scenario, nearest, parse_span,
    read, read_policy, unread, unwritten,
};
pub use map::{Map, safe_load};
pub use policy::{Budget, FAILURES, Guard, IMMEDIATELY, Policy, doubling};
pub use record::{Run, Second};
#[cfg(feature = "rehearse")]
pub use rehearsal::{Cue, Heard, Performed, Rehearsal, Reply, Shown, rehearse};
pub use report::{
    CAVEATS, FEW, Report, conclusion, cut, ending, facts, facts_of_enough, few, verdict,
};
#[cfg(feature = "command")]
pub use runs::{Recovery, recover};
pub use runs::{batch, recovery_time, run, run_telling};
pub use scenario::{Arrivals, Fault, FaultKind, Fleet, Law, Order, Scenario, ServerModel};
pub use storm::{Storm, StormReport};
pub use summary::{Batch, Summary};
pub use unfit::Unfit;
