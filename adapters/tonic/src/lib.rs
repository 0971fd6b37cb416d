//! One service under unchanged generated tonic clients: deadlines that cover retries, a request
//! budget, wait-for-ready, safe retries, and a circuit breaker for each target and method.
//!
//! ```
//! use core::time::Duration;
//!
//! use evenkeel_tonic::Resilient;
//! use evenkeel_tonic::core::{BreakerPolicy, RetryPolicy};
//! use tonic::transport::Endpoint;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let channel = Endpoint::from_static("http://127.0.0.1:50051").connect_lazy();
//! let channel = Resilient::builder()
//!     .timeout(Duration::from_secs(2))?
//!     .retry(RetryPolicy::DEFAULT)
//!     .breaker(BreakerPolicy::DEFAULT)
//!     .build(channel)?;
//! // OrdersClient::new(channel), as always.
//! # let _ = channel;
//! # Ok(()) }
//! ```
//!
//! # The picture
//!
//! ```text
//!   generated client
//!        │ http::Request
//!   Resilient   timeout → request budget → wait-for-ready → retry ──┐
//!        │ for each attempt: breaker, grpc-timeout, one timer       │ Call, of the core
//!   Channel (or any tower service)                                  │ decides
//!        │ response                                                 │
//!   unary: held until its status is known     stream: watched to its last frame
//! ```
//!
//! On the server, [`OpenBudgetLayer`] turns the incoming `grpc-timeout` into the budget of the
//! handler's task, so that calls it makes are trimmed without a line of code.
//!
//! # Why one service and not five layers
//!
//! Deadline, wait flag and request copy are shared; the breaker must hear of the deadline's verdict;
//! a restarted stream needs the retry loop's state. Stacked layers also cost a box each.
//!
//! # What was it: the breaker or the backend?
//!
//! Errors are ordinary statuses. [`cause`] finds the typed reason in their source chain:
//! [`CircuitOpen`], [`BudgetExhausted`], [`DeadlinePassed`], [`TransportError`] (with how far the
//! request got), and [`Stopped`], which says why there was no further attempt.
//!
//! # What this crate does not do
//!
//! It decides nothing: each step asks the core. The service does not choose between targets; give it
//! one channel. Without a [`MethodTable`] it cannot know that a response is unary, nor tell a request
//! stream of one message from a unary request; both are then treated as gRPC A6 would, committed at
//! the response headers.
//!
//! # Map
//!
//! `service` (what is settled before the first attempt), `future` (the healthy call, without a box),
//! `drive` (the loop after a first failure), `flow` (the machine and what was said last), `attempt`
//! (one attempt on the wire), `reading`, `request`, `held`, `stream`, `messages` (bodies),
//! `settings` and `builder`, `upstream` (the core's view), `transport` and `wire` (what the wire
//! says), [`connect`] (dialling), [`health`] (which targets are well), `server` (the layer).
#![doc(test(attr(deny(warnings), allow(dead_code))))]
extern crate alloc;

use std::collections::BTreeMap;

pub use evenkeel_tokio::core;

pub mod connect;
pub mod health;

mod allow;
mod attempt;
mod builder;
mod contradictions;
mod drive;
mod error;
mod flow;
mod future;
mod held;
mod messages;
mod method;
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
