//! Every scenario in which the wire matters, through the real service over a real tonic channel.
//!
//! The network is made of memory and the clock is virtual, so that times are compared exactly. The
//! ids in the tests' names (`g01`, `r13`, `w11`, ...) are those of `docs/scenarios.md`. One binary:
//! `cargo test -p evenkeel-tests --test wire g47` runs one of them.

mod lab;
mod policies;

mod attempts;
mod breaker;
mod budget;
mod commit;
mod deadline;
mod documented;
mod errors;
mod lent;
mod pushback;
mod ready;
mod real;
mod request_streams;
mod restarts;
mod schedule;
mod sent;
mod stacked;
mod streams;
mod table;
mod throttle;
mod timeouts;
mod trials;
mod waiting;
