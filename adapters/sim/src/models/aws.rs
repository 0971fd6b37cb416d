//! This file knows the retry quota of the AWS SDKs.
//!
//! botocore's `standard` mode: 500 tokens, a retry costs 5, after a timeout 10; a call that
//! succeeds at once gives 1, one that succeeds on a retry gives back what that retry had cost. The
//! 2026 mode charges 14 for a transient error.

/// A quota of tokens that retries cost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Aws {
    /// The most there can be, and the start.
    pub capacity: u32,
    /// What a retry costs.
    pub cost: u32,
    /// What a retry costs after a timeout.
    pub timeout_cost: u32,
}

/// What one client has left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AwsMemory {
    tokens: u32,
}

impl Aws {
    /// `standard`.
    pub const STANDARD: Self = Self { capacity: 500, cost: 5, timeout_cost: 10 };
    /// `AWS_NEW_RETRIES_2026`, transient errors.
    pub const NEW_2026: Self = Self { capacity: 500, cost: 14, timeout_cost: 14 };
}

impl AwsMemory {
    /// With all the tokens `rule` allows.
    pub const fn full(rule: &Aws) -> Self {
        Self { tokens: rule.capacity }
    }

    /// A call has succeeded; `paid` is what its last retry had cost, 0 for the first attempt.
    pub fn succeeded(&mut self, rule: &Aws, paid: u32) {
        let back = if paid == 0 { 1 } else { paid };
        self.tokens = self.tokens.saturating_add(back).min(rule.capacity);
    }

    /// Whether a retry may be made, and what it cost.
    pub fn allow(&mut self, rule: &Aws, timed_out: bool) -> Option<u32> {
        let cost = if timed_out { rule.timeout_cost } else { rule.cost };
        self.tokens = self.tokens.checked_sub(cost)?;
        Some(cost)
    }

    /// What is left.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }
}
