//! Deadlines, safe retries and circuit breakers under unchanged generated tonic clients.

extern crate alloc;

use std::collections::BTreeMap;

pub use evenkeel_tokio::core;

pub mod connect;

mod allow;
mod attempt;
mod builder;
mod drive;
mod error;
mod flow;
mod future;
mod held;
mod messages;
mod method;
mod options;
mod request;
mod server;
mod service;
mod settings;
mod stream;
mod transport;
mod upstream;
mod warn;
mod wire;

pub use allow::AllowList;
pub use builder::Builder;
pub use error::{
    BreakerKey, BudgetExhausted, BuildError, CircuitOpen, DeadlinePassed, NoHealthyTargets,
    Stopped, cause,
};
pub use future::ResponseFuture;
pub use method::{DescriptorError, Idempotency, MethodInfo, MethodKind, MethodTable};
pub use options::CallOptions;
pub use server::{OpenBudget, OpenBudgetBody, OpenBudgetFuture, OpenBudgetLayer};
pub use service::Resilient;
pub use settings::Commit;
pub use transport::TransportError;

/// What breakers look like: target → method → snapshot.
pub type Snapshots = BTreeMap<String, BTreeMap<String, core::Snapshot>>;
