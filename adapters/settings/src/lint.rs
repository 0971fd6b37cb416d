//! This file knows what to warn about in a whole settings file.

use evenkeel_core::Strategy;

use crate::method::check_name;
use crate::section::{Breaker, BreakerMode, BreakerRule};
use crate::{Hedging, MethodConfig, ServiceConfig};
use crate::{Settings, Warning};

impl Settings {
    /// What looks wrong, though each setting is right by itself.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        self.warn_of_time(&mut warnings);
        self.warn_of_retries(&mut warnings);
        if let Some(breaker) = &self.breaker() {
            warn_of_unread(breaker, &mut warnings);
        }
        if let Some(balancing) = self.balancing()
            && balancing.weights().next().is_some()
            && balancing.strategy() != Strategy::Weighted
        {
            let needs = "balancing.strategy = \"weighted\"";
            warnings.push(Warning::NoEffect { path: "balancing.weights", needs });
        }
        warnings
    }

    /// The same, and whether calls are retried once more below this client, by a channel that was
    /// given `below`.
    pub fn warnings_over(&self, below: &ServiceConfig) -> Vec<Warning> {
        let attempts = |(_, method): (&str, &MethodConfig)| {
            let hedging = method.hedging().map(Hedging::policy);
            method.retry().copied().or(hedging).map(|policy| policy.max_attempts())
        };
        let below = below.methods().filter_map(attempts).max();
        let retries = self.retry().map(|retry| retry.policy().max_attempts());
        let ours = retries.max(self.hedging().map(|hedging| hedging.policy().max_attempts()));
        let mut warnings = self.warnings();
        if let (Some(max_attempts @ 2..), Some(_)) = (ours, below) {
            warnings.push(Warning::StackedRetries { max_attempts, below });
        }
        warnings
    }

    fn warn_of_time(&self, warnings: &mut Vec<Warning>) {
        let is_bounded = self.timeout().is_some_and(|timeout| timeout.default_timeout().is_some());
        if let Some(attempt_timeout) = self.timeout().and_then(|timeout| timeout.attempt_timeout())
            && !is_bounded
        {
            warnings.push(Warning::AttemptsWithoutEnd { attempt_timeout });
        }
        for (name, _) in self.budget().iter().flat_map(|budget| budget.call_caps()) {
            if check_name(name).is_err() {
                warnings.push(Warning::CapWithoutMethod { name: name.into() });
            }
        }
        if let Some(ready) = self.wait_for_ready()
            && !is_bounded
            && (ready.default_wait() || ready.per_method().any(|(_, wait)| wait == Some(true)))
        {
            let require_deadline = ready.require_deadline();
            warnings.push(Warning::WaitWithoutDeadline { require_deadline });
        }
    }

    fn warn_of_retries(&self, warnings: &mut Vec<Warning>) {
        let threshold = match self.breaker().map(Breaker::rule) {
            Some(BreakerRule::Consecutive(rule)) => Some(rule.threshold()),
            _ => None,
        };
        if let Some(retry) = self.retry() {
            let listed = retry.idempotent_methods().is_some();
            let limit = self.timeout().and_then(|timeout| timeout.attempt_timeout());
            // Hedges take the place of retries.
            if let Some(limit) = limit.filter(|_| self.hedging().is_none()) {
                let none = retry.idempotent_methods() == Some(&[]);
                warnings.extend(Warning::of_attempt_timeout(limit, &retry.policy(), none));
            }
            warnings.extend(Warning::of_retry(&retry.policy(), threshold, listed));
        }
        if let Some(hedging) = self.hedging() {
            warn_of_hedging(hedging, warnings);
        }
        if self.throttle().is_some() && self.retry().is_none() && self.hedging().is_none() {
            let needs = "[retry] or [hedging]";
            warnings.push(Warning::NoEffect { path: "throttle", needs });
        }
    }
}

fn warn_of_hedging(hedging: &Hedging, warnings: &mut Vec<Warning>) {
    let measured = hedging.quantile().is_some();
    if hedging.delay().is_zero() && !measured {
        let max_attempts = hedging.policy().max_attempts();
        warnings.push(Warning::HedgesAtOnce { max_attempts });
    }
    if !hedging.delay().is_zero() && measured {
        let needs = "hedging.quantile = \"none\"";
        warnings.push(Warning::NoEffect { path: "hedging.delay", needs });
    }
    let default = Hedging::default();
    let keys = [
        ("hedging.min_delay", hedging.min_delay() != default.min_delay()),
        ("hedging.max_delay", hedging.max_delay() != default.max_delay()),
        ("hedging.until_known", hedging.until_known() != default.until_known()),
    ];
    let unread = keys.into_iter().filter(|(_, changed)| *changed && !measured);
    let needs = "hedging.quantile";
    warnings.extend(unread.map(|(path, _)| Warning::NoEffect { path, needs }));
}

/// Keys of a mode that was not chosen, where they were given another value than the default.
fn warn_of_unread(breaker: &Breaker, warnings: &mut Vec<Warning>) {
    let default = Breaker::default();
    let in_a_row = breaker.mode == BreakerMode::Consecutive;
    let keys = [
        (
            "breaker.fail_threshold",
            breaker.fail_threshold != default.fail_threshold && !in_a_row,
            "breaker.mode = \"consecutive\"",
        ),
        (
            "breaker.share",
            breaker.share != default.share && in_a_row,
            "breaker.mode = \"count\" or \"time\"",
        ),
        (
            "breaker.min_calls",
            breaker.min_calls != default.min_calls && in_a_row,
            "breaker.mode = \"count\" or \"time\"",
        ),
        (
            "breaker.window",
            breaker.window != default.window && breaker.mode != BreakerMode::Time,
            "breaker.mode = \"time\"",
        ),
        (
            "breaker.window_calls",
            breaker.window_calls != default.window_calls && breaker.mode != BreakerMode::Count,
            "breaker.mode = \"count\"",
        ),
        (
            "breaker.slow_share",
            breaker.slow_share != default.slow_share && (in_a_row || breaker.slow_after.is_none()),
            "breaker.slow_after, and breaker.mode = \"count\" or \"time\"",
        ),
        (
            "breaker.max_open",
            breaker.max_open.is_some_and(|max| max >= breaker.recovery_timeout)
                && breaker.growth == default.growth,
            "breaker.growth above 1.0",
        ),
    ];
    let unread = keys.into_iter().filter(|(_, unread, _)| *unread);
    warnings.extend(unread.map(|(path, _, needs)| Warning::NoEffect { path, needs }));
}
