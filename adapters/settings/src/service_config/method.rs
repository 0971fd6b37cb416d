//! This file knows the `methodConfig`s of a service config, and which methods each is for.

use core::time::Duration;
use std::collections::BTreeMap;

use evenkeel_core::{Backoff, CallPolicy, Invalid, Jitter, RetryPolicy};

use super::fields::{Fields, Findings};
use super::value;
use crate::Hedging;
use crate::node::Node;

/// What one `methodConfig` says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MethodConfig {
    timeout: Option<Duration>,
    wait_for_ready: Option<bool>,
    retry: Option<RetryPolicy>,
    hedging: Option<Hedging>,
    max_request_bytes: Option<u32>,
    max_response_bytes: Option<u32>,
}

impl MethodConfig {
    /// The time of a whole call. The caller's own wins when it is shorter.
    pub const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Whether calls wait for a connection. What the caller says wins.
    pub const fn wait_for_ready(&self) -> Option<bool> {
        self.wait_for_ready
    }

    /// The `retryPolicy`; its waits vary by ±20 %, within `maxBackoff`.
    pub const fn retry(&self) -> Option<&RetryPolicy> {
        self.retry.as_ref()
    }

    /// The `hedgingPolicy`. There is never a `retryPolicy` beside it.
    pub const fn hedging(&self) -> Option<&Hedging> {
        self.hedging.as_ref()
    }

    /// The longest request message.
    pub const fn max_request_bytes(&self) -> Option<u32> {
        self.max_request_bytes
    }

    /// The longest response message.
    pub const fn max_response_bytes(&self) -> Option<u32> {
        self.max_response_bytes
    }

    /// `call` with what this says about it.
    pub fn applied_to(&self, call: CallPolicy) -> CallPolicy {
        // Only what is too long or zero is refused, and that was when the config was read.
        let timed = self.timeout.and_then(|timeout| call.with_timeout(timeout).ok());
        let call = timed.unwrap_or(call);
        match (&self.retry, &self.hedging) {
            (Some(retry), _) => call.with_retry(*retry),
            (None, Some(hedging)) => hedging.hedged(call),
            (None, None) => call,
        }
    }
}

/// Reads every `methodConfig`, and keeps each under its names.
pub(super) fn read_all(
    node: &Node<'_>,
    methods: &mut BTreeMap<Box<str>, MethodConfig>,
    found: &mut Findings<'_>,
) {
    let Some(items) = node.as_list() else {
        return found.refuse(node, "must be a list");
    };
    for (number, item) in items.iter().enumerate() {
        found.item(number, |found| read(item, methods, found));
    }
}

fn read(node: &Node<'_>, methods: &mut BTreeMap<Box<str>, MethodConfig>, found: &mut Findings<'_>) {
    let Some(mut fields) = Fields::of(node, found) else { return };
    let retry = fields.with("retryPolicy", retry_policy);
    let hedging = fields.with("hedgingPolicy", |node, found| {
        if retry.is_some() {
            found.refuse(node, "must not stand beside a retryPolicy");
        }
        hedging_policy(node, found)
    });
    let config = MethodConfig {
        timeout: fields.optional("timeout", value::positive_span),
        wait_for_ready: fields.optional("waitForReady", value::flag),
        retry: retry.flatten(),
        hedging: hedging.flatten(),
        max_request_bytes: fields.optional("maxRequestMessageBytes", value::bytes),
        max_response_bytes: fields.optional("maxResponseMessageBytes", value::bytes),
    };
    let names = fields.with("name", paths).unwrap_or_default();
    if names.is_empty() {
        fields.note_here("is for no method: it has no name");
    }
    for (at, name) in names {
        if methods.insert(name.into(), config.clone()).is_some() {
            fields.refuse_at("name", at, "has a methodConfig already");
        }
    }
    fields.finish();
}

/// The names it has, each with its place.
fn paths(node: &Node<'_>, found: &mut Findings<'_>) -> Vec<(Option<usize>, String)> {
    let Some(names) = node.as_list() else {
        found.refuse(node, "must be a list of names");
        return Vec::new();
    };
    let path = |(number, name): (usize, &Node<'_>)| {
        found.item(number, |found| path(name, found).map(|path| (name.at, path)))
    };
    names.iter().enumerate().filter_map(path).collect()
}

/// `/service/method`, `/service/`, or nothing for all.
fn path(node: &Node<'_>, found: &mut Findings<'_>) -> Option<String> {
    let before = found.faults().count();
    let mut fields = Fields::of(node, found)?;
    let service = fields.optional("service", value::text).unwrap_or_default();
    let method = fields.optional("method", value::text).unwrap_or_default();
    if service.is_empty() && !method.is_empty() {
        fields.refuse_at("method", node.at, "must have a service with it");
    }
    fields.finish();
    // A service that was refused is not the empty one, which stands for all.
    (found.faults().count() == before)
        .then(|| if service.is_empty() { String::new() } else { format!("/{service}/{method}") })
}

fn retry_policy(node: &Node<'_>, found: &mut Findings<'_>) -> Option<RetryPolicy> {
    let mut fields = Fields::of(node, found)?;
    let attempts = attempts(&mut fields);
    let initial = fields.required("initialBackoff", value::positive_span);
    let max = fields.required("maxBackoff", value::positive_span);
    let multiplier = fields.required("backoffMultiplier", value::multiplier);
    let codes = fields.required("retryableStatusCodes", value::some_codes);
    fields.finish();
    let backoff = varied(initial?, max?, multiplier?).ok()?;
    let policy = RetryPolicy::DEFAULT.with_backoff(backoff).with_codes(codes?);
    policy.with_max_attempts(attempts?).ok()
}

/// gRPC A6 varies every wait by 20 % (since 2024).
fn varied(initial: Duration, max: Duration, multiplier: u32) -> Result<Backoff, Invalid> {
    let backoff = Backoff::new(initial, max)?.with_multiplier(multiplier)?;
    backoff.with_jitter(Jitter::Proportional(200))
}

fn hedging_policy(node: &Node<'_>, found: &mut Findings<'_>) -> Option<Hedging> {
    let mut fields = Fields::of(node, found)?;
    let attempts = attempts(&mut fields);
    let delay = fields.optional("hedgingDelay", value::span).unwrap_or_default();
    let codes = fields.optional("nonFatalStatusCodes", value::codes).unwrap_or_default();
    fields.finish();
    Hedging::of(delay, attempts?, codes).ok()
}

/// gRPC's own limit keeps a config from asking for any amount of load.
fn attempts(fields: &mut Fields<'_, '_, '_>) -> Option<u16> {
    let written = fields.required("maxAttempts", value::attempts)?;
    if written > MOST_ATTEMPTS {
        fields.with("maxAttempts", |node, found| found.note(node, "is used as 5"));
    }
    u16::try_from(written.min(MOST_ATTEMPTS)).ok()
}

const MOST_ATTEMPTS: u64 = 5;
