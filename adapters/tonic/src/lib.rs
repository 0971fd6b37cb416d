//! Placeholder.

extern crate alloc;

mod method;

pub use method::{DescriptorError, Idempotency, MethodInfo, MethodKind, MethodTable};
