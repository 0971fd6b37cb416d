//! This file knows what a user does with a health checker.

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use evenkeel_tokio::core::{Clock, Deadline};
use evenkeel_tokio::{TokioClock, until};
use portable_atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;

use super::builder::HealthCheckerBuilder;
use super::callback::CallbackFailed;
use super::flag::{HealthChanges, HealthFlag};
use super::probe::ProbeChannels;
use super::registry::Registry;
use super::run::Shared;
use super::target::locked;

/// Asks targets for their health. A clone is the same checker; with the last one it ends.
///
/// The [module](super) has an example. Every method may be called at any time, from any task, and
/// the future of every one may be dropped at any point.
#[derive(Clone)]
pub struct HealthChecker(Arc<Owner>);

/// The tasks know what is shared, and not this: so they end when it is dropped.
struct Owner {
    shared: Arc<Shared>,
    registry: Mutex<Registry>,
    has_warned: AtomicBool,
}

impl HealthChecker {
    /// A checker that asks on channels made by `channels`, usually a function from a target's name
    /// to a lazy `tonic::transport::Channel`.
    pub fn builder(channels: impl ProbeChannels) -> HealthCheckerBuilder {
        HealthCheckerBuilder::new(channels)
    }

    pub(super) fn new(shared: Shared) -> Self {
        let (shared, registry) = (Arc::new(shared), Mutex::default());
        Self(Arc::new(Owner { shared, registry, has_warned: AtomicBool::new(false) }))
    }

    /// Begins to ask every target, each at once and from then on at its own pace. Started twice, it
    /// says so in the log and goes on.
    ///
    /// After a [`stop`](Self::stop), and in another runtime when the first one is gone, it may be
    /// started again; the old verdicts stand until there are new ones.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, which is where it would put its tasks.
    pub fn start(&self) {
        if !self.registry().start(&self.0.shared, Handle::current()) {
            tracing::warn!(
                target: "evenkeel", upstream = self.0.shared.prober.upstream(),
                "a health checker was started that runs already: the second start is ignored",
            );
        }
    }

    /// Stops asking and closes every channel. The last verdicts stand.
    ///
    /// Nothing is published any more once this was polled for the first time; it returns when the
    /// tasks are gone. A [`check_health`](Self::check_health) on its way still answers its caller.
    pub async fn stop(&self) {
        let tasks = self.registry().stop();
        self.0.shared.tell_of_change();
        for task in tasks {
            // Cancelled, as it should be.
            let _ = task.await;
        }
    }

    /// The part of [`stop`](Self::stop) that waits for nobody: what is on its way is told to end.
    pub(crate) fn halt(&self) {
        self.registry().halt();
        self.0.shared.tell_of_change();
    }

    /// Whether it was started in a runtime that is gone, and not stopped since.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.registry().is_orphaned()
    }

    /// Whether it was started and not stopped since, and its runtime is not gone.
    pub fn is_running(&self) -> bool {
        self.registry().is_running()
    }

    /// Monitors `target`, from now on if the checker runs, and otherwise from its start on.
    /// Returns the target's flag; that of a target that is monitored already stays.
    pub fn add(&self, target: impl Into<Arc<str>>) -> HealthFlag {
        let flag = self.registry().add(&self.0.shared, target.into());
        self.0.shared.tell_of_change();
        flag
    }

    /// Stops monitoring `target`, closes its channel and forgets its verdict. Returns whether it
    /// was monitored.
    pub fn remove(&self, target: &str) -> bool {
        let was_monitored = self.registry().remove(target);
        self.0.shared.tell_of_change();
        was_monitored
    }

    /// Whether `target` is healthy, on evidence only: `false` as long as there is none.
    ///
    /// # Errors
    ///
    /// [`NothingRuns`] if there is no evidence and nothing runs that could ever find any; a caller
    /// would wait for this target for ever. The first time this is a warning in the log as well.
    pub fn is_healthy(&self, target: &str) -> Result<bool, NothingRuns> {
        let registry = self.registry();
        let (verdict, is_running) = (registry.verdict(target), registry.is_running());
        drop(registry);
        if let Some(healthy) = verdict {
            return Ok(healthy);
        }
        if is_running {
            return Ok(false);
        }
        let error = NothingRuns { target: target.into() };
        if !self.0.has_warned.swap(true, Ordering::Relaxed) {
            let upstream = self.0.shared.prober.upstream();
            tracing::warn!(target: "evenkeel", upstream, "{error}");
        }
        Err(error)
    }

    /// What is known of every monitored target; `None` is nothing yet.
    pub fn verdicts(&self) -> BTreeMap<Arc<str>, Option<bool>> {
        self.registry().verdicts()
    }

    /// The flag of a monitored target, for whoever asks at every call.
    pub fn flag(&self, target: &str) -> Option<HealthFlag> {
        self.registry().flag(target)
    }

    /// Waits for changes of any verdict from now on.
    pub fn changes(&self) -> HealthChanges {
        self.0.shared.changes()
    }

    /// Waits until every monitored target has a verdict, good or bad.
    ///
    /// `false` if `timeout` comes first, or if the checker does not run.
    pub async fn wait_until_ready(&self, timeout: Duration) -> bool {
        let mut changes = self.changes();
        let all_known = async {
            loop {
                let ready = self.registry().is_ready();
                match ready {
                    Some(ready) => return ready,
                    None => changes.changed().await,
                }
            }
        };
        let deadline = Deadline::after(TokioClock.now(), timeout);
        until(deadline, all_known).await.unwrap_or(false)
    }

    /// Asks `target` now, whether or not it is monitored or the checker runs, and publishes the
    /// answer like any other; the next check of a monitored target is due a pause after it.
    /// Returns whether the answer was a good one, which is not yet a verdict where the policy's
    /// counts are above 1.
    ///
    /// With [`HealthMode::Watch`](super::HealthMode::Watch) the answer is published only while the
    /// target's stream says nothing.
    ///
    /// # Errors
    ///
    /// [`CallbackFailed`], with
    /// [`fail_fast_callback`](HealthCheckerBuilder::fail_fast_callback) only.
    pub async fn check_health(&self, target: &str) -> Result<bool, CallbackFailed> {
        let shared = &self.0.shared;
        let (target, keep) = self.registry().out_of_turn(target, shared.mode);
        let (healthy, told) = shared.check(&target, target.life(), keep).await;
        told.map(|()| healthy)
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        locked(&self.0.registry)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The tasks end by themselves from here on.
        drop(locked(&self.registry).stop());
    }
}

impl fmt::Debug for HealthChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registry = self.registry();
        f.debug_struct("HealthChecker")
            .field("is_running", &registry.is_running())
            .field("verdicts", &registry.verdicts())
            .finish()
    }
}

/// Nothing is known of a target, and nothing runs that could ever know: the checker was never
/// started, or was stopped before there was an answer.
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub struct NothingRuns {
    /// The target that was asked about.
    pub target: Arc<str>,
}

impl fmt::Display for NothingRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target } = self;
        write!(f, "nothing is known of the health of {target}: the health checker does not run")
    }
}

/// As it is displayed: a `main` that returns it prints this.
impl fmt::Debug for NothingRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for NothingRuns {}
