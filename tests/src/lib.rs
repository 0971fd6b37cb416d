//! Placeholder.

pub mod pb;
pub mod replay;
