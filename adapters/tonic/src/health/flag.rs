//! This file knows how others follow verdicts: one target's without a lock, all of them by waiting.

use core::fmt;
use std::sync::Arc;

use portable_atomic::{AtomicU8, Ordering};
use tokio::sync::watch;

/// The verdict on one target. Reading it is one atomic load; clones read the same.
///
/// It belongs to the time for which its target is monitored: once the target was
/// [removed](super::HealthChecker::remove) it has no verdict any more, and adding the target again
/// makes a new one.
#[derive(Clone)]
pub struct HealthFlag(Arc<AtomicU8>);

impl HealthFlag {
    pub(super) fn unknown() -> Self {
        Self(Arc::new(AtomicU8::new(UNKNOWN)))
    }

    /// The verdict; `None` before the first.
    pub fn is_healthy(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            UNKNOWN => None,
            verdict => Some(verdict == HEALTHY),
        }
    }

    pub(super) fn set(&self, verdict: Option<bool>) {
        let verdict = match verdict {
            None => UNKNOWN,
            Some(true) => HEALTHY,
            Some(false) => UNHEALTHY,
        };
        self.0.store(verdict, Ordering::Release);
    }
}

impl fmt::Debug for HealthFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HealthFlag").field(&self.is_healthy()).finish()
    }
}

const UNKNOWN: u8 = 0;
const HEALTHY: u8 = 1;
const UNHEALTHY: u8 = 2;

/// Waits for the next change of any verdict, for whoever picks among targets.
#[derive(Clone, Debug)]
pub struct HealthChanges(watch::Receiver<u64>);

impl HealthChanges {
    pub(super) const fn new(changes: watch::Receiver<u64>) -> Self {
        Self(changes)
    }

    /// Waits until a verdict has changed, a target has been added or removed, or the checker has
    /// been stopped, since this handle was made or last waited here. Never returns once the
    /// checker is gone. Quick changes may be seen as one; dropping the future loses none.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            core::future::pending::<()>().await;
        }
    }
}
