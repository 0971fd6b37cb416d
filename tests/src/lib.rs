//! Placeholder.

pub mod model;
pub mod pb;
