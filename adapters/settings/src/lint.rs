//! This file knows what to warn about in a whole settings file.

use std::collections::HashSet;

use evenkeel_core::Strategy;

use crate::method::check_name;
use crate::section::{Breaker, BreakerMode, BreakerRule};
use crate::{
    Channel, Hedges, Hedging, Listed, MethodConfig, Retries, Retry, ServiceConfig, Settings,
    Timeout, Together, WaitForReady, Warning,
};

impl Settings {
    /// What looks wrong, though each setting is right by itself.
    pub fn warnings(&self) -> Vec<Warning> {
        let together = self.together();
        let mut warnings = together.warnings();
        if let Some(ready) = self.wait_for_ready()
            && together.timeout.is_none()
            && ready.require_deadline()
            && waits(ready)
        {
            warnings.push(Warning::WaitWithoutDeadline { require_deadline: true });
        }
        warnings.extend(self.warnings_of_keys());
        warnings.extend(self.weights_of_strangers());
        warnings
    }

    /// Code may name targets besides, so that it is no business of whoever builds a client: a weight
    /// that is a stranger's in the end is refused there.
    fn weights_of_strangers(&self) -> Vec<Warning> {
        let targets = self.channel().and_then(Channel::targets);
        let weighted = self.balancing().filter(|it| it.strategy() == Strategy::Weighted);
        let (Some(targets), Some(balancing)) = (targets, weighted) else { return Vec::new() };
        let targets: HashSet<_> = targets.iter().map(ToString::to_string).collect();
        let strangers = balancing.weights().filter(|(target, _)| !targets.contains(*target));
        strangers
            .map(|(target, _)| Warning::WeightWithoutTarget { target: target.into() })
            .collect()
    }

    /// Those of them that only whoever reads the file can give: keys that nothing reads, and a list
    /// without a method. The others are judged by what the client holds in the end
    /// ([`Together::warnings`]), since code may overrule a file.
    pub fn warnings_of_keys(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (name, _) in self.budget().iter().flat_map(|budget| budget.call_caps()) {
            if check_name(name).is_err() {
                warnings.push(Warning::CapWithoutMethod { name: name.into() });
            }
        }
        let together = self.together();
        let repeats = together.is_hedged || together.retries.iter().any(Retries::repeats);
        if repeats && together.list == Listed::None {
            warnings.push(Warning::ListedNone);
        }
        if let Some(hedging) = self.hedging() {
            warn_of_hedging(hedging, &mut warnings);
        }
        if let Some(breaker) = &self.breaker() {
            warn_of_unread(breaker, &mut warnings);
        }
        if let Some(token_ratio @ 1_000..) = self.throttle().map(|throttle| throttle.token_ratio) {
            warnings.push(Warning::RatioBoundsLittle { token_ratio });
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

    /// What a client does that is made of this file alone.
    fn together(&self) -> Together {
        let timeout = self.timeout();
        let own = timeout.into_iter().flat_map(Timeout::per_method).map(|(_, time)| time);
        let default = timeout.and_then(Timeout::default_timeout);
        let longest = own.fold(default, |longest, time| Some(longest?.max(time?)));
        let retries = self.retry().map(|retry| Retries { policy: retry.policy(), longest });
        let ready = self.wait_for_ready().filter(|ready| waits(ready));
        let in_place_of = retries.filter(Retries::repeats).map(|it| it.policy.max_attempts());
        let hedges = self.hedging().map(|hedging| Hedges { in_place_of, ..hedging.into() });
        Together {
            timeout: default,
            longest,
            attempt_timeout: timeout.and_then(Timeout::attempt_timeout),
            waits_without_deadline: ready.is_some_and(|ready| !ready.require_deadline()),
            retries: retries.into_iter().collect(),
            hedges: hedges.into_iter().collect(),
            is_hedged: self.hedging().is_some(),
            list: match self.retry().and_then(Retry::idempotent_methods) {
                None => Listed::Nothing,
                Some([]) => Listed::None,
                Some(_) => Listed::Some,
            },
            fail_threshold: match self.breaker().map(Breaker::rule) {
                Some(BreakerRule::Consecutive(rule)) => Some(rule.threshold()),
                _ => None,
            },
            targets: self.channel().and_then(Channel::targets).map_or(1, <[_]>::len),
            is_throttled: self.throttle().is_some(),
            keeps_nothing: self.retry().is_some_and(|retry| retry.replay_limit() == 0),
        }
    }
}

/// Whether any call waits for a connection.
fn waits(ready: &WaitForReady) -> bool {
    ready.default_wait() || ready.per_method().any(|(_, wait)| wait == Some(true))
}

impl From<&Hedging> for Hedges {
    fn from(hedging: &Hedging) -> Self {
        let measured = hedging.min_delay().min(hedging.until_known());
        let is_measured = hedging.quantile().is_some();
        Self {
            delay: if is_measured { measured } else { hedging.delay() },
            is_measured,
            max_attempts: hedging.policy().max_attempts(),
            in_place_of: None,
        }
    }
}

fn warn_of_hedging(hedging: &Hedging, warnings: &mut Vec<Warning>) {
    let measured = hedging.quantile().is_some();
    if hedging.delay().is_zero() && !measured && hedging.policy().codes().is_empty() {
        warnings.push(Warning::FirstFailureEnds);
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
        (
            "breaker.growth",
            breaker.growth != default.growth && breaker.recovery_timeout.is_zero(),
            "a breaker.recovery_timeout above zero",
        ),
        (
            "breaker.recovery_timeout",
            breaker.max_open.is_some_and(|max| max < breaker.recovery_timeout),
            "a breaker.max_open that is no shorter",
        ),
    ];
    let unread = keys.into_iter().filter(|(_, unread, _)| *unread);
    warnings.extend(unread.map(|(path, _, needs)| Warning::NoEffect { path, needs }));
    let grows = breaker.growth != default.growth;
    if breaker.recovery_timeout.is_zero() {
        warnings.push(Warning::OpensForNoTime);
    } else if grows && breaker.max_open.is_none() {
        warnings.push(Warning::GrowsWithoutEnd);
    }
}
