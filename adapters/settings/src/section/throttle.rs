//! This file knows the section `[throttle]`: how many retries all calls together may make.

use evenkeel_core::{Invalid, ThrottlePolicy};

use crate::keys::{Block, Keys};
use crate::kind::{Count, Decimal, OneOf};

/// `[throttle]`: how many retries all calls together may make.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Throttling {
    kind: Rule,
    max_tokens: u16,
    pub(crate) token_ratio: u32,
    policy: ThrottlePolicy,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rule {
    Grpc,
    SuccessRefilled,
}

impl Throttling {
    /// The rule and its numbers.
    pub const fn policy(&self) -> ThrottlePolicy {
        self.policy
    }
}

impl Block for Throttling {
    const MEANING: &'static str = "How many retries all calls of one upstream together may make: \
                                   without it an outage multiplies the traffic by max_attempts.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.key(
            "kind",
            OneOf(&[("success_refilled", Rule::SuccessRefilled), ("grpc", Rule::Grpc)]),
            &mut self.kind,
            "success_refilled: every retry that is granted costs a token, also one whose wait then does \
             not fit. grpc (A6): every retryable failure costs one, and there is no retry at half of \
             max_tokens or below.",
        );
        keys.key(
            "max_tokens",
            Count(1..=1_000u16),
            &mut self.max_tokens,
            "How many tokens there are at first, and at most.",
        );
        keys.key(
            "token_ratio",
            Decimal(1..=1_000_000),
            &mut self.token_ratio,
            "How many tokens a success gives back.",
        );
    }

    fn check(&mut self) -> Result<(), Invalid> {
        self.policy = match self.kind {
            Rule::Grpc => ThrottlePolicy::grpc(self.max_tokens, self.token_ratio)?,
            Rule::SuccessRefilled => {
                ThrottlePolicy::success_refilled(self.max_tokens, self.token_ratio)?
            }
        };
        Ok(())
    }
}

impl Default for Throttling {
    fn default() -> Self {
        Self {
            kind: Rule::SuccessRefilled,
            max_tokens: 10,
            token_ratio: 100,
            policy: ThrottlePolicy::SUCCESS_REFILLED,
        }
    }
}
