//! Several attempts at one call, side by side: gRPC A6's rules for hedging, through the real service
//! over real tonic channels.
//!
//! The network is made of memory and the clock is virtual, so that times are compared exactly. One
//! binary: `cargo test -p evenkeel-tests --test hedge members` runs one file of it.

mod lab;

mod build;
mod crowd;
mod drops;
mod latency;
mod members;
mod requests;
mod rules;
mod streams;
mod throttle;
