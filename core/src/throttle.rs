//! This file knows how many retries all calls together may make.
//!
//! Why, when each call has its attempts limited already? Backoff does not lower the load of many
//! independent callers: with three attempts each, an outage triples the traffic exactly when the
//! peer can bear it least, and a peer that would have recovered stays down. A throttle lets
//! retries through in proportion to what still works.
//!
//! Before changing this file read gRPC A6, "Throttling Retry Attempts". Amounts are thousandths
//! of a token, in integers: a float would drift at exactly the edge that decides.

use crate::{CodeSet, Invalid, Report};

/// Which token rule bounds the retries, and its numbers.
///
/// ```
/// use evenkeel_core::{Throttle, ThrottlePolicy, checked};
///
/// const A6: ThrottlePolicy = checked!(ThrottlePolicy::grpc(10, 100));
/// let throttle = Throttle::full(&A6);
/// assert_eq!(throttle.millitokens(), 10_000);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ThrottlePolicy {
    max_milli: u32,
    ratio_milli: u32,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Rule {
    /// Every retryable failure costs a token; no retry at half of them or below.
    Grpc,
    /// Every granted retry costs a token; no retry without one.
    SuccessRefilled,
}

impl ThrottlePolicy {
    /// One retry per ten successes, ten saved up: amplification stays near 1.1 however long an
    /// outage lasts.
    pub const SUCCESS_REFILLED: Self =
        Self { max_milli: 10_000, ratio_milli: 100, rule: Rule::SuccessRefilled };

    /// [`SUCCESS_REFILLED`](Self::SUCCESS_REFILLED). Without any, retries are not throttled.
    pub const DEFAULT: Self = Self::SUCCESS_REFILLED;

    /// gRPC A6 `retryThrottling`: starts with `max_tokens`, loses one with every failed attempt
    /// that has a retryable code (or a "do not retry"), gains `ratio` thousandths with every
    /// success, and allows a retry only above half of `max_tokens`.
    ///
    /// # Errors
    ///
    /// Refuses `max_tokens` outside 1..=1000 and a `ratio` of 0, or above 1,000,000.
    pub const fn grpc(max_tokens: u16, ratio: u32) -> Result<Self, Invalid> {
        Self::checked(max_tokens, ratio, Rule::Grpc)
    }

    /// Starts with `tokens`, gains `ratio` thousandths with every success up to `tokens`, and
    /// spends one for each retry.
    ///
    /// # Errors
    ///
    /// Refuses `tokens` outside 1..=1000 and a `ratio` of 0, or above 1,000,000.
    pub const fn success_refilled(tokens: u16, ratio: u32) -> Result<Self, Invalid> {
        Self::checked(tokens, ratio, Rule::SuccessRefilled)
    }

    const fn checked(tokens: u16, ratio_milli: u32, rule: Rule) -> Result<Self, Invalid> {
        if tokens == 0 || tokens > 1_000 {
            let value = crate::num::widen16(tokens);
            return Err(Invalid::new("throttle.max_tokens", value, "", "must be from 1 to 1000"));
        }
        if ratio_milli == 0 || ratio_milli > 1_000_000 {
            let range = "must be from 1 to 1000000, in thousandths of a token per success";
            let value = crate::num::widen(ratio_milli);
            return Err(Invalid::new("throttle.token_ratio", value, "/1000", range));
        }
        #[expect(clippy::as_conversions, reason = "`From` is not const; it widens")]
        let max_milli = (tokens as u32).wrapping_mul(TOKEN);
        Ok(Self { max_milli, ratio_milli, rule })
    }

    /// The most tokens there can be, in thousandths.
    pub const fn max_millitokens(&self) -> u32 {
        self.max_milli
    }

    /// What a success brings, in thousandths of a token.
    pub const fn ratio(&self) -> u32 {
        self.ratio_milli
    }
}

impl Default for ThrottlePolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The tokens that are left: one per upstream, shared by all its methods and targets.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Throttle {
    milli: u32,
}

impl Throttle {
    /// With all the tokens `policy` allows.
    pub const fn full(policy: &ThrottlePolicy) -> Self {
        Self { milli: policy.max_milli }
    }

    /// Books the end of an attempt; `retryable` are the codes its policy retries.
    pub fn record(&mut self, report: &Report, retryable: CodeSet, policy: &ThrottlePolicy) {
        if report.counts() && report.is_success() {
            self.milli = self.milli.saturating_add(policy.ratio_milli).min(policy.max_milli);
        } else if matches!(policy.rule, Rule::Grpc) && report.charges(retryable) {
            self.milli = self.milli.saturating_sub(TOKEN);
        }
    }

    /// Takes the token of one retry, where each costs one, and says whether there was one to take:
    /// ask once for each retry. Granted when the attempt failed, not when the retry is sent, so that
    /// retries which are waiting already count.
    ///
    /// What is granted stays spent, also if no retry follows: there is no time or no target for it,
    /// or the peer asked not to be tried again, or for a wait that is too long. A call asks before it
    /// looks at any of these.
    pub fn allow(&mut self, policy: &ThrottlePolicy) -> bool {
        match policy.rule {
            Rule::Grpc => self.milli > policy.max_milli >> 1,
            Rule::SuccessRefilled => match self.milli.checked_sub(TOKEN) {
                Some(left) => {
                    self.milli = left;
                    true
                }
                None => false,
            },
        }
    }

    /// What is left, in thousandths of a token.
    pub const fn millitokens(&self) -> u32 {
        self.milli
    }
}

const TOKEN: u32 = 1_000;
