//! What is told about calls: metrics, spans and trace context, read as a program reads them.
//!
//! The network is made of memory and the clock is virtual. The ids in the tests' names (`o03`,
//! `g87`, ...) are those of `docs/scenarios.md`. One binary:
//! `cargo test -p evenkeel-tests --test observe o05` runs one of them.

mod figures;
mod lab;
mod tracer;

mod breakers;
mod connections;
mod context;
mod dashboard;
mod documented;
mod ends;
mod faults;
mod health;
mod hedges;
mod labels;
mod members;
mod numbers;
mod plain_log;
mod records;
mod secrets;
mod spans;
