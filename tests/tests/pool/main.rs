//! Pools of members, through the real service over real tonic channels, on a network of memory with
//! a virtual clock.
//!
//! The ids in the tests' names (`p01`, `g76`, ...) are those of `docs/scenarios.md`.
//! `cargo test -p evenkeel-tests --test pool p11` runs one of them.

mod lab;

mod balancing;
mod breakers;
mod closing;
mod connections;
mod crowd;
mod day;
mod documented;
mod faults;
mod handshakes;
mod health;
mod kit;
mod members;
mod names;
mod ready;
mod reasons;
mod sockets;
mod tls;
