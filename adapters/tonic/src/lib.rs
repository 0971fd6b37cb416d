//! Placeholder.

pub mod connect;
