//! This file knows the section `[retry]`: what is tried again, how often, and how fast.

use core::time::Duration;

use evenkeel_core::{Backoff, CodeSet, Invalid, Jitter, RetryPolicy};

use crate::fault::Faults;
use crate::keys::{Block, Keys, Kind};
use crate::kind::{AnyJitter, Bytes, Codes, Count, Decimal, Flag, List, OneOf, Span, Unset};
use crate::node::Node;
use crate::{MethodPattern, NotAPattern};

/// `[retry]`: what is tried again, how often, and how fast.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Retry {
    max_attempts: u16,
    initial_backoff: Duration,
    max_backoff: Duration,
    multiplier: u32,
    jitter: Jitter,
    codes: CodeSet,
    max_hint: Duration,
    idempotent_methods: Option<Vec<MethodPattern>>,
    retry_streaming: bool,
    replay_limit: u32,
    commit: Commit,
    policy: RetryPolicy,
}

/// When a call can no longer be retried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Commit {
    /// As soon as response headers have come (gRPC A6).
    OnHeaders,
    /// When a message has been handed to the caller.
    OnMessageDelivered,
}

impl Retry {
    /// Attempts, waits, codes and the longest hint, for a method that may be executed twice.
    pub const fn policy(&self) -> RetryPolicy {
        self.policy
    }

    /// The methods that may be executed twice; `None`: no list was given.
    pub fn idempotent_methods(&self) -> Option<&[MethodPattern]> {
        self.idempotent_methods.as_deref()
    }

    /// Whether broken response streams of those methods are started over.
    pub const fn retry_streaming(&self) -> bool {
        self.retry_streaming
    }

    /// Up to how many bytes a request message is kept for another attempt.
    pub const fn replay_limit(&self) -> u32 {
        self.replay_limit
    }

    /// When a call can no longer be retried.
    pub const fn commit(&self) -> Commit {
        self.commit
    }

    /// Whether the method with this full name may be executed twice: it is on the list, or there
    /// is no list.
    pub fn may_repeat(&self, method: &str) -> bool {
        let list = self.idempotent_methods.as_ref();
        list.is_none_or(|list| list.iter().any(|pattern| pattern.matches(method)))
    }
}

impl Block for Retry {
    const MEANING: &'static str = "What is tried again, how often, and how fast. Even with \
                                   max_attempts = 1 what was certainly not executed is repeated.";

    fn keys(&mut self, keys: &mut impl Keys) {
        self.pace(keys);
        keys.key(
            "codes",
            Codes,
            &mut self.codes,
            "The status codes that are tried again. With all but the default ones the handler may \
             have run, and a second attempt may do its work twice.",
        );
        keys.key(
            "max_hint",
            Span::ANY,
            &mut self.max_hint,
            "The longest wait a server may ask for; a longer wish ends the call instead.",
        );
        keys.key(
            "idempotent_methods",
            Unset(
                List { of: AnyPattern, filled: false },
                r#"["/orders.v1.Orders/Get", "/catalogue.v1.Catalogue/*", "List*"]"#,
            ),
            &mut self.idempotent_methods,
            "The methods that may be executed twice. Not set: as the .proto declares, or all. \
             Empty: none.",
        );
        keys.key(
            "retry_streaming",
            Flag,
            &mut self.retry_streaming,
            "Starts broken response streams of the listed methods over, from the beginning: items \
             repeat, and each restart is a warning.",
        );
        keys.key(
            "replay_limit",
            Bytes,
            &mut self.replay_limit,
            "A longer request message is not kept for another attempt, and is sent once.",
        );
        keys.key(
            "commit",
            OneOf(&[
                ("on_headers", Commit::OnHeaders),
                ("on_message_delivered", Commit::OnMessageDelivered),
            ]),
            &mut self.commit,
            "When a call can no longer be retried: at the response's headers, as in gRPC A6, or \
             when a message has been handed to the caller.",
        );
    }

    fn check(&mut self) -> Result<(), Invalid> {
        let backoff = Backoff::new(self.initial_backoff, self.max_backoff)?
            .with_multiplier(self.multiplier)?
            .with_jitter(self.jitter)?;
        self.policy = RetryPolicy::DEFAULT
            .with_max_attempts(self.max_attempts)?
            .with_max_hint(self.max_hint)?
            .with_backoff(backoff)
            .with_codes(self.codes);
        Ok(())
    }
}

impl Retry {
    fn pace(&mut self, keys: &mut impl Keys) {
        keys.key(
            "max_attempts",
            Count(1..=u16::MAX),
            &mut self.max_attempts,
            "How many attempts a call has, the first included; 1 never retries.",
        );
        keys.key(
            "initial_backoff",
            Span::ANY,
            &mut self.initial_backoff,
            "The wait before the second attempt, before jitter. Zero never waits.",
        );
        keys.key(
            "max_backoff",
            Span::ANY,
            &mut self.max_backoff,
            "No wait is longer; below initial_backoff it wins.",
        );
        keys.key(
            "multiplier",
            Decimal(1_000..=65_535_000),
            &mut self.multiplier,
            "By how much each wait is longer than the one before; 1.0 is constant.",
        );
        keys.key(
            "jitter",
            AnyJitter,
            &mut self.jitter,
            "How the waits are spread: full is from zero to the wait, equal its upper half, \
             decorrelated up to three times the last one, a number ± that share. Always within \
             max_backoff.",
        );
    }
}

impl Default for Retry {
    fn default() -> Self {
        let policy = RetryPolicy::DEFAULT;
        let backoff = policy.backoff();
        Self {
            max_attempts: policy.max_attempts(),
            initial_backoff: backoff.initial().as_duration(),
            max_backoff: backoff.max().as_duration(),
            multiplier: 2_000,
            jitter: backoff.jitter(),
            codes: policy.codes(),
            max_hint: policy.max_hint().as_duration(),
            idempotent_methods: None,
            retry_streaming: false,
            replay_limit: 256 << 10,
            commit: Commit::OnMessageDelivered,
            policy,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct AnyPattern;

impl Kind for AnyPattern {
    type Value = MethodPattern;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<MethodPattern> {
        let pattern = node.as_text().and_then(|text| text.parse().ok());
        faults.take(node, pattern.ok_or_else(|| NotAPattern::RULE.into()))
    }

    fn write(&self, pattern: &MethodPattern) -> Option<Node<'static>> {
        Some(Node::text(pattern.to_string()))
    }

    fn words(&self) -> String {
        "\"/package.Service/Method\", \"/package.Service/*\" or a beginning such as \"Get*\"".into()
    }

    fn schema(&self) -> Node<'static> {
        Node::table([("type", Node::text("string"))])
    }
}
