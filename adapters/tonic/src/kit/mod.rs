//! This module knows how all parts of a client are put together: a pool of members, health checks,
//! and the policies of its calls, in one [`Kit`]; and several of these in one [`Factory`].
//!
//! ```
//! use core::time::Duration;
//! use evenkeel_tonic::core::{BreakerPolicy, RetryPolicy};
//! use evenkeel_tonic::health::HealthMode;
//! use evenkeel_tonic::{Kit, Pool, Resilient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let calls = Resilient::builder()
//!     .timeout(Duration::from_secs(2))?
//!     .wait_for_ready(true)
//!     .retry(RetryPolicy::DEFAULT)
//!     .breaker(BreakerPolicy::DEFAULT);
//! let kit = Kit::builder("orders")
//!     .pool(Pool::builder().target("dns:///orders.internal:50051")?.insecure())
//!     .calls(calls)
//!     .health(|checker| checker.mode(HealthMode::Watch))
//!     .build()?;
//!
//! // OrdersClient::new(kit.channel()), for each request if you like.
//! kit.close(Duration::from_secs(10)).await;
//! # Ok(()) }
//! ```

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use evenkeel_tokio::core::{Clock, Deadline};
use evenkeel_tokio::{TokioClock, until};
use tonic::transport::Channel;

use crate::health::{HealthChecker, HealthCheckerBuilder};
use crate::pool::{Channels, Connectors, Pool, PoolBuilder};
use crate::{BuildError, Builder, CircuitBreaker, Resilient, Snapshots};

mod configured;
mod factory;
mod guard;

pub use factory::{Factory, FactoryBuilder, UnknownUpstream};

use guard::{Checks, Guard};

/// A client with all that belongs to it. Clones are cheap and share everything.
///
/// It need not be kept: its channels keep what they need. Keep it to look at it, and to close it.
#[derive(Clone, Debug)]
pub struct Kit {
    service: Resilient<Channel>,
    pool: Arc<Pool>,
    checks: Option<Checks>,
}

impl Kit {
    /// A kit for the upstream with this name, which is in errors, logs and metrics.
    pub fn builder(name: impl Into<String>) -> KitBuilder {
        let (pool, calls) = (Pool::builder(), Resilient::builder());
        KitBuilder { name: name.into(), pool, calls, health: None, configured: None, late: None }
    }

    /// What a generated client is made of: `OrdersClient::new(kit.channel())`. As cheap as a clone
    /// of a channel; all of them balance together.
    pub fn channel(&self) -> Resilient<Channel> {
        self.service.clone()
    }

    /// The names of its members, as in errors, logs and breaker keys.
    pub fn members(&self) -> Vec<String> {
        self.pool.members()
    }

    /// Its members.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Who checks the health of its members, if anybody does.
    ///
    /// Every member is checked for as long as it is one: one that is removed here is added again,
    /// and waits for a new verdict. Who is added here, or in [`KitBuilder::health`], stays until it
    /// is removed here.
    pub fn health(&self) -> Option<&HealthChecker> {
        self.checks.as_ref().map(|checks| &checks.checker)
    }

    /// What every circuit breaker looks like now: target → method → snapshot.
    pub fn circuit_breaker_states(&self) -> Snapshots {
        self.service.circuit_breaker_states()
    }

    /// The circuit breaker of `method` at `target`, to be set by hand; see
    /// [`Resilient::circuit_breaker`].
    pub fn circuit_breaker(&self, target: &str, method: &str) -> Option<CircuitBreaker> {
        self.service.circuit_breaker(target, method)
    }

    /// The retry tokens left, in thousandths, if retries are throttled.
    pub fn throttle_millitokens(&self) -> Option<u32> {
        self.service.throttle_millitokens()
    }

    /// Waits until a member that may be used is connected, and where their health is checked, all
    /// of them have a verdict. `false` when `timeout` is over before, and when the kit is closed. A
    /// `timeout` of zero asks whether it is ready now, and dials nobody: a kit that had no calls yet,
    /// or none for long, may have no connection.
    ///
    /// Without health checks connected means what it means to a [`Pool`]: TCP, and nothing of TLS,
    /// which begins with the first call. To be told `false` of a certificate that is not trusted or
    /// is for another name, have [`health`](KitBuilder::health) checked: a check is a call.
    pub async fn wait_until_ready(&self, timeout: Duration) -> bool {
        let deadline = Deadline::after(TokioClock.now(), timeout);
        if let Some(checks) = &self.checks {
            let pool = &self.pool;
            pool.start();
            let checked = async {
                let mut changes = pool.changes();
                while !pool.list().settled && !pool.is_closed() {
                    _ = changes.changed().await;
                }
                checks.monitor(pool);
                let left = deadline.remaining(TokioClock.now()).as_duration();
                checks.checker.wait_until_ready(left).await
            };
            if until(deadline, checked).await != Some(true) {
                return false;
            }
        }
        let left = deadline.remaining(TokioClock.now()).as_duration();
        self.pool.wait_until_ready(left).await
    }

    /// Lets no call begin and stops the health checks, waits for the calls under way, for `grace`
    /// at most, and ends the rest. Answers whether all calls ended by themselves. Dropped once it
    /// was polled, it leaves the kit closed, and its calls to themselves; see [`Pool::close`].
    pub async fn close(&self, grace: Duration) -> bool {
        if let Some(checks) = &self.checks {
            checks.checker.halt();
        }
        let drained = self.pool.close(grace).await;
        if let Some(checks) = &self.checks {
            checks.checker.stop().await;
        }
        drained
    }
}

/// Describes a [`Kit`].
///
/// What may be said of members is said with [`Pool::builder`], of calls with
/// [`Resilient::builder`], of health checks with [`HealthCheckerBuilder`]; each checks what it is
/// told when it is told, and [`build`](Self::build) what only shows together.
#[must_use = "a description does nothing until a kit is built with it"]
pub struct KitBuilder {
    name: String,
    pool: PoolBuilder,
    calls: Builder,
    health: Option<Box<dyn FnOnce(HealthCheckerBuilder) -> HealthCheckerBuilder + Send>>,
    /// What has written into `pool` and `calls`: `settings` or `service_config`.
    configured: Option<&'static str>,
    /// What was given after that, and would have replaced it.
    late: Option<Late>,
}

/// A description that came too late, and what it would have replaced.
struct Late {
    field: &'static str,
    configured: &'static str,
}

impl KitBuilder {
    /// Who its members are, and how they are reached and chosen. Comes before
    /// [`settings`](Self::settings) and [`service_config`](Self::service_config), which add to it;
    /// [`build`](Self::build) refuses it behind them.
    pub fn pool(mut self, pool: PoolBuilder) -> Self {
        self.pool = pool;
        self.replaced("pool")
    }

    /// The policies of its calls. What they say of a target or of one channel's connectivity is
    /// of no effect: the kit's name and its members stand for these. Comes before
    /// [`settings`](Self::settings) and [`service_config`](Self::service_config), as
    /// [`pool`](Self::pool) does.
    pub fn calls(mut self, calls: Builder) -> Self {
        self.calls = calls;
        self.replaced("calls")
    }

    /// Checks the health of the members, on channels of their own that are made like the pool's:
    /// a member is used only after it was found healthy. `configure` gets a checker as it was
    /// configured before: here, by [`settings`](Self::settings) or by
    /// [`service_config`](Self::service_config); at first one with the defaults.
    pub fn health(
        mut self,
        configure: impl FnOnce(HealthCheckerBuilder) -> HealthCheckerBuilder + Send + 'static,
    ) -> Self {
        self.health = Some(match self.health.take() {
            Some(before) => Box::new(|checker| configure(before(checker))),
            None => Box::new(configure),
        });
        self
    }

    /// Notes that `field` was given, and what was configured before it is gone.
    fn replaced(mut self, field: &'static str) -> Self {
        let late = self.configured.map(|configured| Late { field, configured });
        self.late = self.late.or(late);
        self
    }

    /// The kit. Nothing is dialled before its first call; health checks begin at once. Outside a
    /// tokio runtime they begin with the first call, too.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names what cannot be right, and what was given in an order in which it would
    /// have replaced a file.
    pub fn build(self) -> Result<Kit, BuildError> {
        let Self { name, pool, calls, health, configured: _, late } = self;
        if let Some(Late { field, configured }) = late {
            let rule = format!("must come before {configured}, which it would replace");
            return Err(BuildError::Refused { field, rule: rule.into() });
        }
        let Some(configure) = health else {
            let (service, pool) = calls.target(name).build_over(pool)?;
            return Ok(Kit { service, pool, checks: None });
        };
        let dialling = pool.dialling()?;
        let whose = name.clone();
        let (service, pool) = calls.target(name).build_over(pool.health_checked())?;
        let channels = guard::channels(Arc::downgrade(&pool), dialling);
        let checker = configure(HealthChecker::builder(channels).upstream(&whose));
        let checker = checker.greeting(guard::greeting(Arc::downgrade(&pool))).build();
        let checks = Checks::of(checker);
        pool.attach(Box::new(Guard::new(&pool, &checks)));
        Ok(Kit { service, pool, checks: Some(checks) })
    }

    /// Shares connections with other kits that have these.
    fn sharing(mut self, channels: &Channels, connector: &Connectors) -> Self {
        self.pool = self.pool.sharing(channels, connector);
        self
    }
}

impl fmt::Debug for KitBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KitBuilder")
            .field("name", &self.name)
            .field("pool", &self.pool)
            .field("calls", &self.calls)
            .field("health", &self.health.is_some())
            .finish()
    }
}
