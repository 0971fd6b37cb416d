//! This file knows how a client is configured, and refuses what cannot be right.

use core::time::Duration;
use std::collections::HashMap;

use evenkeel_settings::{ServiceConfig, Warning};
use evenkeel_tokio::AnyRule;
use evenkeel_tokio::core::{
    BreakerPolicy, CallPolicy, Invalid, Micros, RetryPolicy, ThrottlePolicy, Trip,
};

use crate::connect::Connectivity;
use crate::error::BuildError;
use crate::hedge::Hedges;
use crate::observe::Observing;
use crate::service::DEFAULT_REPLAY_LIMIT;
use crate::settings::{Commit, Ready};
use crate::{AllowList, MethodTable};

mod build;
mod configured;
mod hedged;
mod misspelled;
mod observed;

/// Configures a [`Resilient`](crate::Resilient) service. Every block is off until it is named.
///
/// Settings are checked where they are given; what only looks wrong together is warned about once,
/// through `tracing`, when the service is built.
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    pub(crate) target: String,
    pub(crate) call: CallPolicy,
    pub(crate) timeouts: HashMap<Box<str>, Option<Duration>>,
    budget_reserve: Option<Micros>,
    pub(crate) ready: Option<Ready>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) restarts_streams: bool,
    pub(crate) replay_limit: usize,
    commit: Commit,
    pub(crate) hedges: Option<Hedges>,
    pub(crate) idempotent: Option<AllowList>,
    pub(crate) breaker: Option<BreakerPolicy<AnyRule>>,
    max_methods: usize,
    idle_ttl: Option<Duration>,
    pub(crate) throttle: Option<ThrottlePolicy>,
    pub(crate) methods: MethodTable,
    connectivity: Option<Connectivity>,
    pub(crate) observing: Observing,
    pub(crate) native_retries: bool,
    pub(crate) service_config: ServiceConfig,
    /// Whether a settings file or a service config hedges.
    pub(crate) hedging_is_configured: bool,
    /// How many targets it will be over, as far as is known.
    pub(crate) targets: usize,
    /// What looks wrong in a settings file, and only there.
    pub(crate) warnings: Vec<Warning>,
    /// The sections of a settings file that are about members, and that nobody has made use of.
    pub(crate) unused: Vec<&'static str>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            target: String::new(),
            call: CallPolicy::DEFAULT.unbounded(),
            timeouts: HashMap::new(),
            budget_reserve: Some(Micros::ZERO),
            ready: None,
            retry: None,
            restarts_streams: false,
            replay_limit: DEFAULT_REPLAY_LIMIT,
            commit: Commit::default(),
            hedges: None,
            idempotent: None,
            breaker: None,
            max_methods: 1_000,
            idle_ttl: None,
            throttle: None,
            methods: MethodTable::default(),
            connectivity: None,
            observing: Observing::default(),
            native_retries: false,
            service_config: ServiceConfig::default(),
            hedging_is_configured: false,
            targets: 1,
            warnings: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// The name of the target in breaker keys, errors and logs; empty by default.
    pub fn target(mut self, name: impl Into<String>) -> Self {
        self.target = name.into();
        self
    }

    /// What the `.proto` says about the methods: their kinds, and, unless
    /// [`idempotent`](Self::idempotent) gives another list, which may be repeated.
    pub fn methods(mut self, table: &MethodTable) -> Self {
        self.methods = MethodTable::merged([&self.methods, table]);
        self
    }

    /// The timeout block: this much for every call, retries included. The caller's own deadline
    /// wins when it is nearer. (grpc-client-kit's default is 10 s.)
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub fn timeout(mut self, timeout: Duration) -> Result<Self, BuildError> {
        self.call = self.call.with_timeout(timeout)?;
        Ok(self)
    }

    /// Another timeout for one method, given as `/package.Service/Method`; `None` leaves it
    /// without one, and its attempts without [a limit of theirs](Self::attempt_timeout): so a
    /// subscription lasts as long as its caller wants.
    ///
    /// # Errors
    ///
    /// Refuses a name of another form, `/package.Service/*` among them, zero, and 2^48 µs (8.9
    /// years) or more.
    pub fn method_timeout(
        mut self,
        method: &str,
        timeout: Option<Duration>,
    ) -> Result<Self, BuildError> {
        let name = checked_name(method)?;
        if let Some(Err(refused)) = timeout.map(|timeout| self.call.with_timeout(timeout)) {
            let (value, unit, rule) = (refused.value(), refused.unit(), refused.rule());
            let invalid = Invalid::new("timeout.per_method", value, unit, rule);
            return Err(BuildError::MethodSetting { method: name.into(), invalid });
        }
        self.timeouts.insert(name, timeout);
        Ok(self)
    }

    /// A limit for each attempt of every method but those that have
    /// [none by name](Self::method_timeout). Its expiry is retried when `DEADLINE_EXCEEDED` is in
    /// the retried codes. It ends a response stream too, which is an attempt to its last message.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub fn attempt_timeout(mut self, limit: Duration) -> Result<Self, BuildError> {
        self.call = self.call.with_attempt_timeout(limit)?;
        Ok(self)
    }

    /// Keeps this much of the request's budget for the calls after each one. Zero by default: the
    /// budget of the current task trims calls without being configured.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub fn budget_reserve(mut self, reserve: Duration) -> Result<Self, BuildError> {
        self.budget_reserve = Some(Micros::setting("budget.reserve_for_next", reserve)?);
        Ok(self)
    }

    /// Leaves the request budget of the current task alone.
    pub fn without_budget(mut self) -> Self {
        self.budget_reserve = None;
        self
    }

    /// The wait-for-ready block: calls wait for a connection until their deadline, or do not.
    /// Needs a deadline; a call without one fails fast, and that is warned about once.
    pub fn wait_for_ready(mut self, default: bool) -> Self {
        self.ready_block().default = default;
        self
    }

    /// Another wait-for-ready for one method; `None` exempts it from the block.
    ///
    /// # Errors
    ///
    /// Refuses a name that is not `/package.Service/Method`, or has a star.
    pub fn method_wait_for_ready(
        mut self,
        method: &str,
        wait: Option<bool>,
    ) -> Result<Self, BuildError> {
        let name = checked_name(method)?;
        self.ready_block().per_method.insert(name, wait);
        Ok(self)
    }

    /// Lets calls wait for a connection that have no deadline, for ever if need be.
    pub fn wait_without_deadline(mut self) -> Self {
        self.ready_block().require_deadline = false;
        self
    }

    /// The retry block. Also lets what was certainly not executed be repeated at once, even with
    /// [`RetryPolicy::OFF`]. A method that is [hedged](Self::hedge) is not retried.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Which methods may be executed twice. Without this, and without
    /// [`methods`](Self::methods), all may.
    pub fn idempotent(mut self, list: AllowList) -> Self {
        self.idempotent = Some(list);
        self
    }

    /// Restarts broken response streams of methods on the allow-list (the one that
    /// [`idempotent`](Self::idempotent) gives, or else what [`methods`](Self::methods) declares),
    /// from the beginning: items repeat, and each restart is a warning. Has no effect without the
    /// [retry block](Self::retry).
    pub fn retry_streaming(mut self) -> Self {
        self.restarts_streams = true;
        self
    }

    /// Keeps request messages up to this many bytes for a second attempt; longer ones are sent
    /// once. 256 KiB by default. Whether there is a second attempt, other settings say.
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        self.replay_limit = bytes;
        self
    }

    /// When a call can no longer be retried, or hedged. Whether it is, other settings say.
    pub fn commit(mut self, commit: Commit) -> Self {
        self.commit = commit;
        self
    }

    /// The breaker block: one breaker for each target and method.
    pub fn breaker<T: Trip + Into<AnyRule>>(mut self, policy: BreakerPolicy<T>) -> Self {
        self.breaker = Some(AnyRule::policy(policy));
        self
    }

    /// A slice of a call's time that is too short to judge a target by; 100 ms by default. A method
    /// whose own timeouts are shorter is judged by what they give it. Zero judges every slice.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub fn short_slice(mut self, slice: Duration) -> Result<Self, BuildError> {
        self.call = self.call.with_short_slice(slice)?;
        Ok(self)
    }

    /// How many breakers are kept; 1000 by default.
    ///
    /// # Errors
    ///
    /// Refuses 0.
    pub fn max_methods(mut self, max: usize) -> Result<Self, BuildError> {
        if max == 0 {
            return Err(Invalid::new("breaker.max_methods", 0, "", "must be 1 or more").into());
        }
        self.max_methods = max;
        Ok(self)
    }

    /// Forgets a breaker that nobody has asked for in so long and that protects nothing; an hour by
    /// default. Methods of a [table](Self::methods) keep theirs, and it is not forgotten.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub fn breaker_idle_ttl(mut self, ttl: Duration) -> Result<Self, BuildError> {
        Micros::positive_setting("breaker.idle_ttl", ttl)?;
        self.idle_ttl = Some(ttl);
        Ok(self)
    }

    /// The throttle block: bounds the retries of all calls together.
    pub fn throttle(mut self, policy: ThrottlePolicy) -> Self {
        self.throttle = Some(policy);
        self
    }

    /// Where calls that wait for a connection learn of it; from
    /// [`connect::connector`](crate::connect::connector). Without it each waiting call tries for
    /// itself, with growing pauses.
    pub fn connectivity(mut self, connectivity: Connectivity) -> Self {
        self.connectivity = Some(connectivity);
        self
    }

    /// Says that something below this client retries too (a service config, a mesh), so that the
    /// client can warn: attempts multiply.
    pub fn native_retries(mut self) -> Self {
        self.native_retries = true;
        self
    }

    fn ready_block(&mut self) -> &mut Ready {
        self.ready.get_or_insert_with(|| Ready {
            default: true,
            per_method: HashMap::new(),
            require_deadline: true,
        })
    }
}

/// A full name. A star in it would be no method's, and set nothing.
fn checked_name(method: &str) -> Result<Box<str>, BuildError> {
    let name = method.strip_prefix('/').and_then(|name| name.split_once('/'));
    let is_full = name.is_some_and(|(service, own)| {
        !service.is_empty() && !own.is_empty() && !own.contains('/') && !method.contains('*')
    });
    if is_full { Ok(method.into()) } else { Err(BuildError::Method(method.to_owned())) }
}
