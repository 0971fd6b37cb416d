//! Deadlines, safe retries and circuit breakers under unchanged generated tonic clients.

extern crate alloc;

mod method;
mod transport;
mod wire;

pub use method::{DescriptorError, Idempotency, MethodInfo, MethodKind, MethodTable};
pub use transport::TransportError;
