//! gRPC's own rules against a server and a client that are not tonic: gRPC's core, by way of
//! Python.
//!
//! Two libraries of one family may agree on a mistake. Here the other end is `tests/interop`, whose
//! `server.py` does what requests tell it to, and whose `client.py` makes the calls it is told.
//! `tests/run interop` brings Python's packages and runs these; without them they are ignored. The
//! sockets are real and so is the clock: what is compared are counts, orders and results, and times
//! only with bounds that a slow machine keeps.
//!
//! The ids in the tests' names are those of `docs/scenarios.md`.

mod lab;
mod ours;
mod python;

mod answers;
mod deadlines;
mod documented;
mod health;
mod pushback;
mod ready;
mod restarts;
mod retries;
mod sizes;
mod their_calls;
mod their_health;
