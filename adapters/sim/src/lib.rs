//! Virtual time: runs a fleet of evenkeel's machines against a server model, and judges a policy
//! before an outage does.
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
mod report;
mod scenario;
mod server;
mod storm;
mod summary;
mod tally;
mod unfit;
mod world;

pub use agenda::Agenda;
pub use chance::{Chance, exp, ln, subseed};
pub use channel::{batch_makespan, saturated_throughput};
pub use contest::{Contest, contest, original_waits};
pub use figures::{Figure, figures, map_figure, style};
#[cfg(feature = "command")]
pub use file::{Named, ScenarioFile, parse_span, read, read_policy};
pub use map::{Map, safe_load};
pub use policy::{Budget, FAILURES, Guard, IMMEDIATELY, Policy, doubling};
pub use record::{Run, Second};
pub use report::{CAVEATS, Report, conclusion, facts};
pub use scenario::{Arrivals, Fault, FaultKind, Fleet, Law, Order, Scenario, ServerModel};
pub use storm::{Storm, StormReport};
pub use summary::{Batch, Summary};
pub use unfit::Unfit;
pub use world::{batch, recovery_time, run};
