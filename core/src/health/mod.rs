//! This file knows what a health check can answer, and what an answer can change.
//!
//! Two machines read answers. [`Health`] asks again and again (`grpc.health.v1.Health/Check`, a
//! ping, a sensor's status register) and says when to ask next. [`HealthWatch`] listens to a
//! stream of answers (`Watch`, gRFC A17) and says when to open the next one. Each is the state of
//! *one* target: a target that is slow to answer, or has been down for years, costs no other
//! target a thing.

mod check;
mod policy;
mod watch;

pub use check::Health;
pub use policy::{HealthPolicy, Unimplemented};
pub use watch::HealthWatch;

/// What a health check came to.
///
/// Only [`Serving`](Self::Serving) is good news. A connection that works is none: a server that
/// says `NOT_SERVING` says so over a working connection.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Answer {
    /// None: no connection, an error status, a timeout. Its connection may be what is broken.
    Failed,
    /// It answered something else than `SERVING`: `NOT_SERVING`, `UNKNOWN`, `SERVICE_UNKNOWN`, or
    /// a value nobody has defined yet. Its connection works.
    NotServing,
    /// `SERVING`.
    Serving,
    /// `UNIMPLEMENTED`: the peer has no health service; [`Unimplemented`] says what that means.
    Unimplemented,
}

impl Answer {
    /// Whether it proves that the connection works, so that the next check may use it again.
    pub const fn proves_connection(self) -> bool {
        !matches!(self, Self::Failed)
    }

    /// Whether it is a good one under `policy`.
    pub const fn is_healthy(self, policy: &HealthPolicy) -> bool {
        match self {
            Self::Failed | Self::NotServing => false,
            Self::Serving => true,
            Self::Unimplemented => matches!(policy.unimplemented(), Unimplemented::Healthy),
        }
    }
}

/// The health bit of a target was set for the first time, or flipped.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum HealthChange {
    /// It is healthy now.
    Healthy,
    /// It is not healthy now.
    Unhealthy,
}

impl HealthChange {
    /// The bit it led to.
    pub const fn is_healthy(self) -> bool {
        matches!(self, Self::Healthy)
    }

    const fn to(healthy: bool) -> Self {
        if healthy { Self::Healthy } else { Self::Unhealthy }
    }
}
