//! Deadlines, safe retries and circuit breakers under unchanged generated tonic clients.

extern crate alloc;

mod method;
mod server;
mod transport;
mod wire;

pub use method::{DescriptorError, Idempotency, MethodInfo, MethodKind, MethodTable};
pub use server::{OpenBudget, OpenBudgetBody, OpenBudgetFuture, OpenBudgetLayer};
pub use transport::TransportError;
