//! This file knows how others follow verdicts: one target's without a lock, all of them by waiting.

use core::fmt;
use std::sync::{Arc, Mutex};

use portable_atomic::{AtomicU8, Ordering};
use tokio::sync::watch;

use super::target::locked;

/// The verdict on one target. Reading it is one atomic load; clones read the same.
///
/// It belongs to the time for which its target is monitored: once the target was
/// [removed](super::HealthChecker::remove) it has no verdict any more, and adding the target again
/// makes a new one.
#[derive(Clone)]
pub struct HealthFlag(Arc<Known>);

struct Known {
    verdict: AtomicU8,
    /// What the last check that was not good came to.
    why: Mutex<Option<Arc<str>>>,
}

impl HealthFlag {
    pub(super) fn unknown() -> Self {
        Self(Arc::new(Known { verdict: AtomicU8::new(UNKNOWN), why: Mutex::default() }))
    }

    /// The verdict; `None` before the first.
    pub fn is_healthy(&self) -> Option<bool> {
        match self.0.verdict.load(Ordering::Acquire) {
            UNKNOWN => None,
            verdict => Some(verdict == HEALTHY),
        }
    }

    /// What the last check that was not good came to: `connection refused`, `no answer within
    /// 5.00s`, `answered NOT_SERVING`. `None` while there was none. Not to be parsed.
    pub fn why(&self) -> Option<Arc<str>> {
        locked(&self.0.why).clone()
    }

    /// Whether this is the other's clone.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn explain(&self, why: &str) {
        let mut known = locked(&self.0.why);
        if known.as_deref() != Some(why) {
            *known = Some(why.into());
        }
    }

    pub(super) fn set(&self, verdict: Option<bool>) {
        let verdict = match verdict {
            None => UNKNOWN,
            Some(true) => HEALTHY,
            Some(false) => UNHEALTHY,
        };
        self.0.verdict.store(verdict, Ordering::Release);
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
