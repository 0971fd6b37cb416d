//! This file knows which settings contradict each other.

use evenkeel_tokio::AnyRule;
use evenkeel_tokio::core::{BreakerPolicy, Code, CodeSet};

use crate::Builder;

/// Warns of settings that are right one by one and look wrong together. Each is worth one warning
/// in the life of a client, so it is given when the client is built.
pub(crate) fn warn(builder: &Builder) {
    let Some(retry) = &builder.retry else { return };
    let (policy, target) = (&retry.policy, &*builder.target);
    if policy.backoff().max() < policy.backoff().initial() {
        tracing::warn!(
            target: "evenkeel",
            upstream = target,
            "retry.max_backoff is below retry.initial_backoff: every wait is max_backoff",
        );
    }
    let attempts = policy.max_attempts();
    if let Some(AnyRule::Consecutive(rule)) = builder.breaker.as_ref().map(BreakerPolicy::trip)
        && attempts > 1
        && rule.threshold() <= attempts
    {
        let threshold = rule.threshold();
        tracing::warn!(
            target: "evenkeel",
            upstream = target,
            threshold,
            attempts,
            "breaker.fail_threshold <= retry.max_attempts: one failing call opens its own \
             circuit",
        );
    }
    let unlisted = builder.idempotent.is_none() && builder.methods.methods().is_empty();
    if unlisted && attempts > 1 && policy.codes().iter().any(|code| RAN.contains(code)) {
        tracing::warn!(
            target: "evenkeel",
            upstream = target,
            codes = ?policy.codes(),
            "retry.codes has codes with which the handler may have run, and no list says which \
             methods may be executed twice",
        );
    }
    if builder.native_retries && attempts > 1 {
        tracing::warn!(
            target: "evenkeel",
            upstream = target,
            attempts,
            "something below this client retries too: attempts multiply (3 x 3 = 9); keep one \
             retry loop per call",
        );
    }
}

/// With these the handler ran, or may have.
const RAN: CodeSet = CodeSet::of(&[Code::Internal, Code::Unknown, Code::Aborted]);
