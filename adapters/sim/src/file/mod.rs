//! This file knows how scenarios and policies are read from files.

mod attempts;
mod count;
mod endless;
mod method;
mod misread;
mod nearest;
mod place;
mod policy;
mod raw;
mod scenario;
mod size;
mod span;
mod taken;
mod takes;
mod trouble;

pub use count::counted;
pub use method::Method;
pub use nearest::{advice, nearest};
pub use policy::{Named, read_policy};
pub use scenario::ScenarioFile;
pub use size::read;
pub(crate) use span::Span;
pub use span::parse_span;
pub use taken::{is_policy, is_scenario};
pub use trouble::{unread, unwritten};
