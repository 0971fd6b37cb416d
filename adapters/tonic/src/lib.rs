//! Deadlines, safe retries and circuit breakers under unchanged generated tonic clients.

#[cfg_attr(not(test), expect(dead_code, reason = "read and written by the service alone"))]
mod wire;
