//! The connector under a real tonic channel, over in-memory pipes and a clock that stands still.

mod connections;
mod failing_fast;
mod lab;
mod waiting;
