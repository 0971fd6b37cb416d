//! This file knows the section `[hedging]`: attempts sent beside one that has not answered yet.

use core::time::Duration;

use evenkeel_core::{Backoff, CallPolicy, CodeSet, Invalid, RetryPolicy, checked};

use crate::keys::{Block, Keys};
use crate::kind::{Codes, Count, Span};

/// `[hedging]`: another attempt beside one that has not answered in time, for methods that may be
/// executed twice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hedging {
    delay: Duration,
    max_attempts: u16,
    non_fatal_codes: CodeSet,
    policy: RetryPolicy,
}

impl Hedging {
    /// How long an attempt may take before the next is sent beside it.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Attempts and codes as the core takes them. It has no waits of its own: what fails with a
    /// non-fatal code is followed by the next attempt at once.
    pub const fn policy(&self) -> RetryPolicy {
        self.policy
    }

    /// `call` with its attempts hedged instead of retried.
    pub fn hedged(&self, call: CallPolicy) -> CallPolicy {
        // Only a delay that is too long is refused, and that was when the section was read.
        call.with_retry(self.policy).with_hedge_after(self.delay).unwrap_or(call)
    }

    /// # Errors
    ///
    /// What the core refuses.
    pub(crate) fn of(
        delay: Duration,
        max_attempts: u16,
        non_fatal_codes: CodeSet,
    ) -> Result<Self, Invalid> {
        let mut hedging = Self { delay, max_attempts, non_fatal_codes, policy: RetryPolicy::OFF };
        hedging.check()?;
        Ok(hedging)
    }
}

impl Block for Hedging {
    const MEANING: &'static str = "Another attempt beside one that has not answered in time, for \
                                   methods that may be executed twice; these are then hedged \
                                   instead of retried (gRPC A6). The first answer wins, the others \
                                   are cancelled.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.key(
            "delay",
            Span::ANY,
            &mut self.delay,
            "How long an attempt may take before the next is sent beside it. Zero sends all at \
             once, so that every call costs max_attempts.",
        );
        keys.key(
            "max_attempts",
            Count(2..=5u16),
            &mut self.max_attempts,
            "How many attempts a call has, the first included.",
        );
        keys.key(
            "non_fatal_codes",
            Codes,
            &mut self.non_fatal_codes,
            "An attempt that ends in one of these is followed by the next at once; any other \
             failure ends the call.",
        );
    }

    fn check(&mut self) -> Result<(), Invalid> {
        CallPolicy::DEFAULT.with_hedge_after(self.delay)?;
        self.policy =
            TWICE_AT_ONCE.with_max_attempts(self.max_attempts)?.with_codes(self.non_fatal_codes);
        Ok(())
    }
}

impl Default for Hedging {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            max_attempts: TWICE_AT_ONCE.max_attempts(),
            non_fatal_codes: TWICE_AT_ONCE.codes(),
            policy: TWICE_AT_ONCE,
        }
    }
}

/// The fewest attempts that hedge, no wait between them, and no failure that is followed by one.
const TWICE_AT_ONCE: RetryPolicy = checked!(RetryPolicy::DEFAULT.with_max_attempts(2))
    .with_backoff(checked!(Backoff::new(Duration::ZERO, Duration::ZERO)))
    .with_codes(CodeSet::EMPTY);
