//! This file knows how scenarios and policies are read from files.

mod scenario;
mod size;
mod span;

pub use scenario::{Named, ScenarioFile, read_policy};
pub use size::read;
pub(crate) use span::Span;
pub use span::parse_span;
