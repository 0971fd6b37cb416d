//! This file knows how a client is configured by a settings file, or by a gRPC service config.

use evenkeel_settings as file;
use evenkeel_settings::{BreakerRule, ServiceConfig, Warning};
use evenkeel_tokio::core::RetryPolicy;
use evenkeel_tokio::{AnyRule, fresh_seed};

use super::Builder;
use crate::error::BuildError;
use crate::{AllowList, Commit};

impl Builder {
    /// What a settings file says about calls: its sections `[timeout]`, `[budget]` (what each call
    /// reserves; the rest is [`OpenBudgetLayer::configured`](crate::OpenBudgetLayer::configured)'s),
    /// `[wait_for_ready]`, `[retry]`, `[hedging]`, `[breaker]` and `[throttle]`.
    ///
    /// Its sections about members, `[channel]`, `[balancing]` and `[health]`, are for a kit
    /// ([`KitBuilder::settings`](crate::KitBuilder::settings)); over one channel they do nothing,
    /// which is warned about.
    ///
    /// A section the file does not have leaves the builder as it is; a section it has replaces what
    /// was said before. What is said afterwards wins.
    ///
    /// ```
    /// use evenkeel_tonic::{Resilient, evenkeel_settings::Settings};
    ///
    /// let variables = [("EVENKEEL__TIMEOUT__DEFAULT", "2s"), ("EVENKEEL__RETRY__MAX_ATTEMPTS", "4")];
    /// let settings = Settings::new().with_environment(variables)?;
    /// let builder = Resilient::builder().settings(&settings)?;
    /// # let _ = builder;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As the methods of this builder, of which none refuses what a settings file may say.
    pub fn settings(mut self, settings: &file::Settings) -> Result<Self, BuildError> {
        if let Some(timeout) = settings.timeout() {
            self = self.timeouts_of(timeout)?;
        }
        if let Some(budget) = settings.budget() {
            self = self.budget_reserve(budget.reserve_for_next())?;
        }
        if let Some(ready) = settings.wait_for_ready() {
            self = self.ready_of(ready)?;
        }
        if let Some(retry) = settings.retry() {
            self = self.retry_of(retry);
        }
        if let Some(hedging) = settings.hedging() {
            self = self.hedging_of(hedging);
        }
        if let Some(breaker) = settings.breaker() {
            self = self.breaker_of(breaker)?;
        }
        if let Some(throttle) = settings.throttle() {
            self = self.throttle(throttle.policy());
        }
        let of_members = [
            ("channel", settings.channel().is_some()),
            ("balancing", settings.balancing().is_some()),
            ("health", settings.health().is_some()),
        ];
        for (section, _) in of_members.into_iter().filter(|(_, is_there)| *is_there) {
            if !self.unused.contains(&section) {
                self.unused.push(section);
            }
        }
        Ok(self.warned(settings.warnings_of_keys()))
    }

    /// Somebody else makes use of these sections.
    pub(crate) fn without_warning_of(mut self, sections: &[&str]) -> Self {
        self.unused.retain(|section| !sections.contains(section));
        self
    }

    /// What a gRPC service config says about calls: the timeout, wait-for-ready and `retryPolicy` or
    /// `hedgingPolicy` of each method, and `retryThrottling`.
    ///
    /// For the methods it names, its `retryPolicy`, `hedgingPolicy` and wait-for-ready win over
    /// those of the builder, and the shorter timeout over the longer one. All others keep the
    /// builder's. What may be executed twice is still decided by the list of methods; without one
    /// all may be retried, and none is hedged, which is warned about.
    ///
    /// What it says of members is for a kit
    /// ([`KitBuilder::service_config`](crate::KitBuilder::service_config)). Its limits for messages
    /// are not enforced, which is warned about too: generated clients have methods for them.
    ///
    /// ```
    /// use evenkeel_tonic::{Resilient, evenkeel_settings::ServiceConfig};
    ///
    /// # fn of(config: &ServiceConfig) {
    /// let builder = Resilient::builder().service_config(config);
    /// # let _ = builder;
    /// # }
    /// ```
    pub fn service_config(mut self, config: &ServiceConfig) -> Self {
        let methods = || config.methods().map(|(_, method)| method);
        if self.retry.is_none() && methods().any(|method| method.retry().is_some()) {
            self = self.retry(RetryPolicy::OFF);
        }
        if self.ready.is_none() && methods().any(|method| method.wait_for_ready().is_some()) {
            self = self.wait_for_ready(false);
        }
        if let Some(throttle) = config.throttle() {
            self = self.throttle(throttle);
        }
        self.hedging_is_configured |= methods().any(|method| method.hedging().is_some());
        self.service_config = config.clone();
        self.warned(config.warnings())
    }

    fn warned(mut self, warnings: Vec<Warning>) -> Self {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self
    }

    fn timeouts_of(mut self, block: &file::Timeout) -> Result<Self, BuildError> {
        self.call = match block.default_timeout() {
            Some(timeout) => self.call.with_timeout(timeout)?,
            None => self.call.unbounded(),
        };
        if let Some(limit) = block.attempt_timeout() {
            self = self.attempt_timeout(limit)?;
        }
        for (method, timeout) in block.per_method() {
            self = self.method_timeout(method, timeout)?;
        }
        Ok(self)
    }

    fn ready_of(mut self, block: &file::WaitForReady) -> Result<Self, BuildError> {
        self = self.wait_for_ready(block.default_wait());
        if !block.require_deadline() {
            self = self.wait_without_deadline();
        }
        for (method, wait) in block.per_method() {
            self = self.method_wait_for_ready(method, wait)?;
        }
        Ok(self)
    }

    fn retry_of(mut self, block: &file::Retry) -> Self {
        let limit = usize::try_from(block.replay_limit()).unwrap_or(usize::MAX);
        let commit = match block.commit() {
            file::Commit::OnHeaders => Commit::OnHeaders,
            file::Commit::OnMessageDelivered => Commit::OnMessageDelivered,
        };
        self = self.retry(block.policy()).replay_limit(limit).commit(commit);
        if block.retry_streaming() {
            self = self.retry_streaming();
        }
        if let Some(list) = block.idempotent_methods() {
            self = self.idempotent(list.iter().cloned().collect::<AllowList>());
        }
        self
    }

    fn breaker_of(self, block: &file::Breaker) -> Result<Self, BuildError> {
        let rule = match block.rule() {
            BreakerRule::Consecutive(rule) => AnyRule::from(rule),
            BreakerRule::LastN(rule) => rule.into(),
            BreakerRule::LastNs(rule) => rule.into(),
            BreakerRule::TimeWindow(rule) => rule.into(),
            BreakerRule::TimeWindows(rule) => rule.into(),
        };
        let most = usize::try_from(block.max_methods()).unwrap_or(usize::MAX);
        self.breaker(block.policy(rule, fresh_seed()))
            .short_slice(block.short_slice())?
            .max_methods(most)?
            .breaker_idle_ttl(block.idle_ttl())
    }
}
