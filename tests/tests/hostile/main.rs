//! Peers that want all of our memory, or all of our time. Each test counts the bytes that are in
//! use, by an allocator of its own, and how often tasks are polled.

mod discovery;
mod health;
mod memory;
mod metadata;
mod names;

use core::time::Duration;

use evenkeel_core::{BreakerPolicy, Consecutive, RetryPolicy};
use evenkeel_tests::Reply;
use evenkeel_tests::pb::METHODS;
use evenkeel_tonic::{Builder, Pool, PoolBuilder, Resilient};
use tonic::Status;

/// Unary, and may be executed twice.
const ECHO: &str = "/lab.v1.Lab/Echo";
/// A response stream, and may be executed twice.
const EXPORT: &str = "/lab.v1.Lab/Export";

/// Everything that keeps something for the next call is on.
fn guarded() -> Builder {
    Resilient::builder()
        .target("lab")
        .methods(&METHODS)
        .timeout(Duration::from_secs(10))
        .unwrap()
        .retry(RetryPolicy::DEFAULT.with_max_attempts(2).unwrap())
        .retry_streaming()
        .breaker(BreakerPolicy::new(Consecutive::new(3).unwrap()))
}

/// Members with these names, on `net`.
fn pool_of(net: &evenkeel_tests::Network, names: &[&str]) -> PoolBuilder {
    let targets = names.iter().map(|name| format!("{name}:1"));
    Pool::builder().insecure().connector(net.dialer()).targets(targets).unwrap()
}

fn pong() -> Reply {
    Reply::headers().message("pong").end(Status::ok(""))
}
