//! Deadlines, safe retries and circuit breakers under unchanged generated tonic clients.

mod transport;
#[cfg_attr(not(test), expect(dead_code, reason = "read and written by the service alone"))]
mod wire;

pub use transport::TransportError;
