//! This file knows which settings contradict each other, and says so.

use core::time::Duration;

use evenkeel_settings::{Hedges, Listed, Retries, Together, Warning};
use evenkeel_tokio::AnyRule;
use evenkeel_tokio::core::{BreakerPolicy, Micros};

use crate::warn::named;
use crate::{Builder, HedgeDelay, HedgePolicy, MethodInfo};

/// Warns of settings that are right one by one and look wrong together. Each is worth one warning
/// in the life of a client, so it is given when the client is built.
pub(crate) fn warn(builder: &Builder) {
    let upstream = named(&builder.target);
    for warning in found(builder).into_iter().chain(builder.misspelled()) {
        tracing::warn!(target: "evenkeel", upstream, "{warning}");
    }
    if builder.hedging_is_configured && builder.listed().is_none() {
        tracing::warn!(
            target: "evenkeel",
            upstream,
            "hedging is configured, and no list says which methods may be executed twice, \
             so none is hedged; name them with Builder::methods or Builder::idempotent",
        );
    }
}

fn found(builder: &Builder) -> Vec<Warning> {
    let mut warnings = builder.warnings.clone();
    // Code that gives another list overrules the file's, and so does code that retries nothing.
    let together = together(builder);
    let repeats = together.is_hedged || together.retries.iter().any(Retries::repeats);
    let is_empty = builder.idempotent.as_ref().is_some_and(|list| list.is_empty());
    warnings.retain(|warning| *warning != Warning::ListedNone || (is_empty && repeats));
    warnings.extend(together.warnings());
    warnings.extend(ended_streams(builder));
    if builder.restarts_streams && builder.retry.is_none() {
        let (path, needs) = ("retry.retry_streaming", "Builder::retry");
        warnings.push(Warning::NoEffect { path, needs });
    }
    if !builder.unused.is_empty() {
        warnings.push(Warning::NeedsKit { sections: builder.unused.clone() });
    }
    if let Some(max_attempts @ 2..) = most_attempts(builder).filter(|_| builder.native_retries) {
        warnings.push(Warning::StackedRetries { max_attempts, below: None });
    }
    warnings
}

/// Only the method table says which responses are streams.
fn ended_streams(builder: &Builder) -> Option<Warning> {
    let attempt_timeout = limit(builder.call.attempt_timeout())?;
    let is_cut = |method: &&MethodInfo| {
        let own = builder.timeouts.get(method.path()).copied();
        let timeout = own.unwrap_or_else(|| limit(builder.call.timeout()));
        let is_endless = own == Some(None);
        let is_over = timeout.is_some_and(|timeout| timeout <= attempt_timeout);
        method.kind().server_streaming() && !is_endless && !is_over
    };
    let method = builder.methods.methods().iter().find(is_cut)?.path().into();
    Some(Warning::AttemptTimeoutEndsStreams { attempt_timeout, method })
}

/// What the client does, whoever said it.
fn together(builder: &Builder) -> Together {
    let default = limit(builder.call.timeout());
    let own = builder.timeouts.values().copied();
    let longest = own.fold(default, |longest, time| Some(longest?.max(time?)));
    let ready = builder.ready.as_ref().filter(|ready| !ready.require_deadline);
    Together {
        // A service config may have one for all methods that it does not name.
        timeout: default.or_else(|| builder.service_config.method("")?.timeout()),
        longest,
        attempt_timeout: limit(builder.call.attempt_timeout()),
        waits_without_deadline: ready.is_some_and(|ready| {
            ready.default || ready.per_method.values().any(|wait| *wait == Some(true))
        }),
        retries: retries(builder, longest),
        hedges: hedges(builder),
        is_hedged: builder.hedging_is_configured || policies(builder).next().is_some(),
        list: match builder.listed() {
            None => Listed::Nothing,
            Some(list) if list.is_empty() => Listed::None,
            Some(_) => Listed::Some,
        },
        fail_threshold: match builder.breaker.as_ref().map(BreakerPolicy::trip) {
            Some(AnyRule::Consecutive(rule)) => Some(rule.threshold()),
            _ => None,
        },
        targets: builder.targets,
        is_throttled: builder.throttle.is_some(),
        keeps_nothing: builder.replay_limit == 0,
    }
}

fn retries(builder: &Builder, longest: Option<Duration>) -> Vec<Retries> {
    let configured = builder.service_config.methods().filter_map(|(_, method)| {
        let longest = method.timeout().into_iter().chain(longest).min();
        Some(Retries { policy: *method.retry()?, longest })
    });
    let own = builder.retry.map(|policy| Retries { policy, longest });
    configured.chain(own).collect()
}

/// Without a list nothing is hedged. What a service config says is as gRPC has it: there no delay is
/// the default.
fn hedges(builder: &Builder) -> Vec<Hedges> {
    if builder.listed().is_none_or(|list| list.is_empty()) {
        return Vec::new();
    }
    let retry = builder.retry.map(|policy| Retries { policy, longest: None });
    let in_place_of = retry.filter(Retries::repeats).map(|retry| retry.policy.max_attempts());
    policies(builder).map(|policy| Hedges { in_place_of, ..shortest(policy) }).collect()
}

fn policies(builder: &Builder) -> impl Iterator<Item = &HedgePolicy> {
    let hedges = builder.hedges.iter();
    hedges.flat_map(|hedges| hedges.per_method.values().chain([&hedges.policy])).flatten()
}

fn shortest(policy: &HedgePolicy) -> Hedges {
    let (delay, is_measured) = match policy.delay() {
        HedgeDelay::Fixed(delay) => (delay, false),
        HedgeDelay::Quantile { min, until_known, .. } => (min.min(until_known), true),
    };
    Hedges { delay, is_measured, max_attempts: policy.max_attempts(), in_place_of: None }
}

fn most_attempts(builder: &Builder) -> Option<u16> {
    let configured = builder.service_config.methods().filter_map(|(_, method)| method.retry());
    let policies = configured.chain(builder.retry.as_ref());
    policies.map(|policy| policy.max_attempts()).chain(builder.most_hedged()).max()
}

fn limit(span: Micros) -> Option<Duration> {
    (span != Micros::MAX).then(|| span.as_duration())
}
