//! This module knows which targets are healthy: it asks each of them (`grpc.health.v1`), keeps
//! what they answer, and tells whoever wants to know.
//!
//! Why ask, when every call shows how a target is? Because a call that finds out has failed. Why
//! on channels of its own? Because a pooled channel that hangs would make its target look ill for
//! as long as the pool holds on to it, and a check must not wait behind the calls it is to guard.
//!
//! ```
//! use core::time::Duration;
//! use evenkeel_tonic::health::HealthChecker;
//! use tonic::transport::{Endpoint, Error};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let checker = HealthChecker::builder(|target: &str| {
//!     Ok::<_, Error>(Endpoint::from_shared(format!("http://{target}"))?.connect_lazy())
//! })
//! .targets(["10.0.0.1:50051", "10.0.0.2:50051"])
//! .on_status_change(|target, healthy| println!("{target}: {healthy}"))
//! .build();
//!
//! assert!(checker.is_healthy("10.0.0.1:50051").is_err(), "nothing runs that could know");
//! checker.start();
//! // Until every target has answered once, or failed to.
//! let ready = checker.wait_until_ready(Duration::ZERO).await;
//! assert_eq!((ready, checker.is_healthy("10.0.0.1:50051")), (false, Ok(false)));
//! checker.stop().await;
//! # }
//! ```
//!
//! Each target has a task and a schedule of its own, so that a slow one delays nobody. When a
//! target's verdict changes, it is told in this order: [`HealthChecker::is_healthy`],
//! [`HealthFlag`], [`HealthChanges`], the callback. A channel whose check failed is closed before.

mod builder;
mod callback;
mod checker;
mod flag;
mod heard;
mod probe;
mod registry;
mod run;
mod target;

pub use builder::{HealthCheckerBuilder, HealthMode};
pub use callback::{CallbackFailed, Told};
pub use checker::{HealthChecker, NothingRuns};
pub use flag::{HealthChanges, HealthFlag};
pub use probe::{ProbeChannel, ProbeChannels};
