//! This file knows the section `[timeout]`: how long a call may take.

use core::time::Duration;
use std::collections::BTreeMap;

use evenkeel_core::{CallPolicy, Invalid};

use crate::keys::{Block, Keys};
use crate::kind::{ByName, Span};
use crate::method::method_name;

/// `[timeout]`: how long a call may take, retries included.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Timeout {
    default: Option<Duration>,
    attempt_timeout: Option<Duration>,
    per_method: BTreeMap<Box<str>, Option<Duration>>,
    call: CallPolicy,
    calls: BTreeMap<Box<str>, CallPolicy>,
}

impl Timeout {
    /// The time of a whole call; `None` for no limit.
    pub const fn default_timeout(&self) -> Option<Duration> {
        self.default
    }

    /// The limit for each attempt; `None` for none.
    pub const fn attempt_timeout(&self) -> Option<Duration> {
        self.attempt_timeout
    }

    /// The methods with a timeout of their own, by full name; `None` for no limit, and none for
    /// each attempt.
    pub fn per_method(&self) -> impl Iterator<Item = (&str, Option<Duration>)> {
        self.per_method.iter().map(|(method, timeout)| (&**method, *timeout))
    }

    /// The timeouts of the method with this full name; nothing else of the policy is set.
    pub fn call_policy(&self, method: &str) -> CallPolicy {
        self.calls.get(method).copied().unwrap_or(self.call)
    }
}

impl Block for Timeout {
    const MEANING: &'static str = "How long a call may take, retries included. The caller's own \
                                   deadline wins when it is nearer.";

    fn keys(&mut self, keys: &mut impl Keys) {
        let span = Span::OR_NONE;
        let methods = ByName { of: span, names: "full method names", name: method_name };
        keys.key(
            "default",
            span,
            &mut self.default,
            "The time of every call that has no other; \"none\" leaves it to the caller.",
        );
        keys.key(
            "attempt_timeout",
            span,
            &mut self.attempt_timeout,
            "A limit for each attempt. Its expiry is retried when DEADLINE_EXCEEDED is among \
             retry.codes. With default = \"none\" a call lasts attempts × this + the waits.",
        );
        keys.key(
            "per_method",
            methods,
            &mut self.per_method,
            "Another time for some methods, each by its full name \"/package.Service/Method\"; \
             \"none\", as for a subscription, is no limit for each attempt either.",
        );
    }

    fn check(&mut self) -> Result<(), Invalid> {
        let mut call = CallPolicy::DEFAULT;
        if let Some(limit) = self.attempt_timeout {
            call = call.with_attempt_timeout(limit)?;
        }
        self.call = match self.default {
            Some(timeout) => call.with_timeout(timeout)?,
            None => call.unbounded(),
        };
        let calls = self.per_method.iter();
        let own = |timeout: &Option<_>| match *timeout {
            Some(timeout) => call.with_timeout(timeout),
            None => Ok(call.endless()),
        };
        let calls = calls.map(|(name, timeout)| Ok((name.clone(), own(timeout)?)));
        self.calls = calls.collect::<Result<_, _>>()?;
        Ok(())
    }
}

impl Default for Timeout {
    fn default() -> Self {
        Self {
            default: Some(CallPolicy::DEFAULT.timeout().as_duration()),
            attempt_timeout: None,
            per_method: BTreeMap::new(),
            call: CallPolicy::DEFAULT,
            calls: BTreeMap::new(),
        }
    }
}
