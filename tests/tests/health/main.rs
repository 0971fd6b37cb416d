//! The health checker on tokio: real HTTP/2 over connections of memory, in virtual time.
//!
//! The ids in the tests' names (`h05`, `g80`) are those of `docs/scenarios.md`. One binary:
//! `cargo test -p evenkeel-tests --test health h05` runs one of them.

mod lab;
mod logged;

mod callbacks;
mod channels;
mod crowd;
mod day;
mod documented;
mod drops;
mod faults;
mod garbage;
mod lives;
mod recovery;
mod schedule;
mod served;
mod verdicts;
mod watching;
