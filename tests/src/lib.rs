//! Placeholder.

pub mod replay;
