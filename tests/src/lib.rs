//! Placeholder.

pub mod model;
