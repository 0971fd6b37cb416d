//! This file knows what a test writes and what it reads: a [`Reply`] for each request to come, a
//! [`Seen`] for each request that came.
//!
//! The same words serve a [`Peer`](crate::Peer), which speaks real HTTP/2, and a
//! [`Stub`](crate::Stub), which is a function call away: a scenario written for one runs on the
//! other where the difference does not matter to it.

mod log;
mod reply;
mod seen;
mod step;

pub use reply::Reply;
pub use seen::Seen;
pub use step::Last;

pub(crate) use log::Log;
pub(crate) use step::Step;
