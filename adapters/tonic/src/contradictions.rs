//! This file knows which settings contradict each other, and says so.

use evenkeel_settings::Warning;
use evenkeel_tokio::AnyRule;
use evenkeel_tokio::core::{BreakerPolicy, Micros};

use crate::Builder;

/// Warns of settings that are right one by one and look wrong together. Each is worth one warning
/// in the life of a client, so it is given when the client is built.
pub(crate) fn warn(builder: &Builder) {
    let upstream = &*builder.target;
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
    let threshold = match builder.breaker.as_ref().map(BreakerPolicy::trip) {
        Some(AnyRule::Consecutive(rule)) => Some(rule.threshold()),
        _ => None,
    };
    let listed = builder.idempotent.is_some() || !builder.methods.methods().is_empty();
    let limit = builder.call.attempt_timeout();
    // Hedges take the place of retries.
    let hedged = builder.hedges.is_some() || builder.hedging_is_configured;
    let limit = (limit != Micros::MAX && !hedged).then(|| limit.as_duration());
    let none = builder.listed().is_some_and(|list| list.is_empty());
    let configured = builder.service_config.methods().filter_map(|(_, method)| method.retry());
    let policies = configured.chain(builder.retry.as_ref().map(|retry| &retry.policy));
    let mut most = builder.most_hedged();
    for policy in policies {
        most = most.max(Some(policy.max_attempts()));
        let of_limit = limit.and_then(|limit| Warning::of_attempt_timeout(limit, policy, none));
        for warning in of_limit.into_iter().chain(Warning::of_retry(policy, threshold, listed)) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    if let Some(max_attempts @ 2..) = most.filter(|_| builder.native_retries) {
        warnings.push(Warning::StackedRetries { max_attempts, below: None });
    }
    warnings
}
