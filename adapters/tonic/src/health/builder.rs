//! This file knows how a health checker is put together.

use std::sync::Arc;

use evenkeel_tokio::core::HealthPolicy;
use tokio::sync::watch::Sender;

use super::callback::{Callback, Told};
use super::checker::HealthChecker;
use super::probe::{ProbeChannels, Prober};
use super::run::{Greeting, Shared};

/// How targets are asked.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum HealthMode {
    /// Again and again, with `Check`, as grpc-client-kit does. The default: every server that has
    /// a health service answers it, and a schedule is easy to reason about.
    #[default]
    Check,
    /// With one `Watch` stream for each target, as gRFC A17 says: a change is known within a
    /// round trip. The interval and the counts of the policy have no meaning then.
    ///
    /// A stream may be silent for weeks, and so is one whose network is gone. Give the channels
    /// `http2_keep_alive_interval`; with `Check`, the timeout of each check finds that out.
    Watch,
}

/// A [`HealthChecker`] to be.
///
/// | setting | default |
/// |---|---|
/// | `targets` | none; they can be added later |
/// | `policy` | [`HealthPolicy::DEFAULT`] |
/// | `mode` | [`HealthMode::Check`] |
/// | `service` | `""`: the server as a whole |
/// | `on_status_change` | nobody is called |
pub struct HealthCheckerBuilder {
    channels: Arc<dyn ProbeChannels>,
    targets: Vec<Arc<str>>,
    policy: HealthPolicy,
    mode: HealthMode,
    service: String,
    callback: Callback,
    greeting: Option<Greeting>,
    upstream: Option<Arc<str>>,
}

impl HealthCheckerBuilder {
    pub(super) fn new(channels: impl ProbeChannels) -> Self {
        Self {
            channels: Arc::new(channels),
            targets: Vec::new(),
            policy: HealthPolicy::DEFAULT,
            mode: HealthMode::default(),
            service: String::new(),
            callback: Callback::none(),
            greeting: None,
            upstream: None,
        }
    }

    /// Monitors these as well. One that is named twice is asked once.
    pub fn targets<T: Into<Arc<str>>>(mut self, targets: impl IntoIterator<Item = T>) -> Self {
        self.targets.extend(targets.into_iter().map(Into::into));
        self
    }

    /// Asks as often, and flips the verdict as slowly, as `policy` says.
    pub const fn policy(mut self, policy: HealthPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Asks in this way.
    pub const fn mode(mut self, mode: HealthMode) -> Self {
        self.mode = mode;
        self
    }

    /// Asks for the health of this service, `package.Service`, and not of the server as a whole.
    pub fn service(mut self, service: impl Into<String>) -> Self {
        self.service = service.into();
        self
    }

    /// Calls `callback` whenever a target's verdict changes, the first one included: with the
    /// target, and whether it is healthy.
    ///
    /// It may return nothing or a `Result`. One that fails or panics is told in the log, and
    /// nothing else comes of it. For one target it is called in the order of the changes, and one
    /// call at a time; while it runs, no other check of that target can be published, so it must
    /// not wait for one.
    pub fn on_status_change<R: Told>(
        mut self,
        callback: impl Fn(&str, bool) -> R + Send + Sync + 'static,
    ) -> Self {
        self.callback.set(move |target, healthy| callback(target, healthy).into_result());
        self
    }

    /// Hands a failure of the callback to whoever called
    /// [`check_health`](HealthChecker::check_health). A check that nobody waits for has nobody to
    /// tell: then it is the log, as without this.
    pub const fn fail_fast_callback(mut self) -> Self {
        self.callback.fail_fast();
        self
    }

    /// Calls `greeting` with a target that gave a good answer, before anybody can see the verdict.
    pub(crate) fn greeting(mut self, greeting: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.greeting = Some(Box::new(greeting));
        self
    }

    /// Says in the log whose members are asked.
    pub(crate) fn upstream(mut self, name: &str) -> Self {
        self.upstream = Some(name.into());
        self
    }

    /// The checker. Nothing is asked before it is [started](HealthChecker::start).
    pub fn build(self) -> HealthChecker {
        let Self { channels, targets, policy, mode, service, callback, greeting, upstream } = self;
        let prober = Prober::new(channels, service, policy.timeout(), upstream);
        let shared = Shared { mode, prober, policy, callback, greeting, changes: Sender::new(0) };
        let checker = HealthChecker::new(shared);
        for target in targets {
            checker.add(target);
        }
        checker
    }
}

impl core::fmt::Debug for HealthCheckerBuilder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HealthCheckerBuilder")
            .field("targets", &self.targets)
            .field("policy", &self.policy)
            .field("mode", &self.mode)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
