#![doc = include_str!("../README.md")]
//!
//! # The picture
//!
//! ```text
//!   generated client
//!        │ http::Request
//!   Resilient   timeout → request budget → wait-for-ready → retry ──┐
//!        │ for each attempt: member, breaker, grpc-timeout, timer   │ Call, of the core
//!   Pool of Channels, or one tower service                          │ decides
//!        │ response                                                 │
//!   unary: held until its status is known     stream: watched to its last frame
//! ```
//!
//! # Why one service and not five layers
//!
//! Deadline, wait flag and request copy are shared; the breaker must hear of the deadline's verdict;
//! a restarted stream needs the retry loop's state. Stacked layers also cost a box each.
//!
//! # Map
//!
//! `service` and `incoming` (what is settled before the first attempt), `future` (the healthy call,
//! without a box), `drive` (the loop after a first failure), `flow` (the machine and what was said
//! last), `attempt` (one attempt on the wire), `hedge` (several of them at once), `reading`,
//! `request`, `held`, `stream`, `messages` (bodies), `settings` and `builder` (by calls, by a
//! settings file, by a service config), `upstream` (the core's view), `transport` and `wire` (what
//! the wire says), [`connect`] (dialling), [`target`] (how one is written down), [`pool`] (which
//! there are, and whose turn it is), [`health`] (which are well), [`kit`] (all of it together),
//! `layer` (for stacks of services), `server` (the layer of a server), `observe` (what is told of
//! calls).
#![doc(test(attr(deny(warnings), allow(dead_code))))]
extern crate alloc;

use std::collections::BTreeMap;

pub use evenkeel_settings;
pub use evenkeel_settings::target;
pub use evenkeel_tokio::core;

pub mod connect;
pub mod health;
pub mod kit;
pub mod pool;

mod allow;
mod attempt;
mod below;
mod builder;
mod contradictions;
mod drive;
mod error;
mod flow;
mod future;
mod hedge;
mod held;
mod incoming;
mod layer;
mod manual;
mod messages;
mod method;
mod observe;
mod options;
mod reading;
mod request;
mod restart;
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
    BreakerKey, BudgetExhausted, BuildError, CircuitOpen, Closed, DeadlinePassed, NoHealthyTargets,
    Stopped, TimeLimit, cause,
};
pub use future::ResponseFuture;
pub use hedge::{HedgeDelay, HedgePolicy};
pub use kit::{Factory, FactoryBuilder, Kit, KitBuilder};
pub use layer::ResilientLayer;
pub use manual::CircuitBreaker;
pub use method::{DescriptorError, Idempotency, MethodInfo, MethodKind, MethodTable};
#[cfg(feature = "otel")]
pub use observe::Metrics;
pub use options::CallOptions;
pub use pool::{Pool, PoolBuilder};
pub use server::{OpenBudget, OpenBudgetBody, OpenBudgetFuture, OpenBudgetLayer};
pub use service::Resilient;
pub use settings::Commit;
pub use transport::TransportError;

/// What breakers look like: target → method → snapshot.
pub type Snapshots = BTreeMap<String, BTreeMap<String, core::Snapshot>>;
