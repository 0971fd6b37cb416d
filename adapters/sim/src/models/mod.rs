//! This file knows the rules of other libraries that are simulated for comparison.
//!
//! None of these ships in the core, and none of the core's machines is here. They are written from
//! the sources named in each file, in the smallest form that gives the same decisions, so that a
//! policy can be held beside what people run today.

mod adaptive;
mod aws;
mod envoy;
mod finagle;
mod mongodb;
mod requests;
mod ring;

pub use adaptive::{Adaptive, AdaptiveMemory};
pub use aws::{Aws, AwsMemory};
pub use envoy::{Envoy, EnvoyMemory};
pub use finagle::{Finagle, FinagleMemory};
pub use mongodb::{MongoDb, MongoDbMemory};
pub use requests::{Requests, RequestsMemory};

pub(crate) use ring::Ring;
