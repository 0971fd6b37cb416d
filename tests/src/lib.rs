//! Placeholder.

pub mod pb;
