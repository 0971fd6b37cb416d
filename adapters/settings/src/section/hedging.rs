//! This file knows the section `[hedging]`: attempts sent beside one that has not answered yet.

use core::time::Duration;

use evenkeel_core::{Backoff, CallPolicy, CodeSet, Invalid, Micros, RetryPolicy, checked};

use crate::keys::{Block, Keys};
use crate::kind::{Codes, Count, Decimal, OrNone, Span};

/// `[hedging]`: another attempt beside one that has not answered in time, for methods that may be
/// executed twice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hedging {
    delay: Duration,
    quantile: Option<u32>,
    min_delay: Duration,
    max_delay: Duration,
    until_known: Duration,
    max_attempts: u16,
    non_fatal_codes: CodeSet,
    policy: RetryPolicy,
}

impl Hedging {
    /// How long an attempt may take before the next is sent beside it. With a
    /// [`quantile`](Self::quantile) that is measured, and this is not read.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// The share of first attempts, in thousandths, whose time is the delay: 950 hedges one call in
    /// 20. `None`: the delay is fixed.
    pub fn quantile(&self) -> Option<u16> {
        // No more than 990 is read.
        self.quantile.and_then(|thousandths| thousandths.try_into().ok())
    }

    /// A measured delay is never shorter.
    pub const fn min_delay(&self) -> Duration {
        self.min_delay
    }

    /// A measured delay is never longer.
    pub const fn max_delay(&self) -> Duration {
        self.max_delay
    }

    /// The delay before enough was measured.
    pub const fn until_known(&self) -> Duration {
        self.until_known
    }

    /// Attempts and codes as the core takes them. It has no waits of its own: what fails with a
    /// non-fatal code is followed by the next attempt at once.
    pub const fn policy(&self) -> RetryPolicy {
        self.policy
    }

    /// `call` with its attempts hedged instead of retried. Where the delay is measured this is what
    /// holds before anything was.
    pub fn hedged(&self, call: CallPolicy) -> CallPolicy {
        let delay = if self.quantile.is_some() { self.until_known } else { self.delay };
        // Only a delay that is too long is refused, and that was when the section was read.
        call.with_retry(self.policy).with_hedge_after(delay).unwrap_or(call)
    }

    /// # Errors
    ///
    /// What the core refuses.
    pub(crate) fn of(
        delay: Duration,
        max_attempts: u16,
        non_fatal_codes: CodeSet,
    ) -> Result<Self, Invalid> {
        let mut hedging = Self { delay, max_attempts, non_fatal_codes, ..Self::default() };
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
            "quantile",
            OrNone(Decimal(500..=990)),
            &mut self.quantile,
            "Takes as the delay what this share of the method's calls take: 0.95 hedges one call \
             in 20. \"none\": the delay is fixed.",
        );
        keys.key(
            "min_delay",
            Span::ANY,
            &mut self.min_delay,
            "quantile: the delay is never shorter.",
        );
        keys.key(
            "max_delay",
            Span::ANY,
            &mut self.max_delay,
            "quantile: the delay is never longer.",
        );
        keys.key(
            "until_known",
            Span::ANY,
            &mut self.until_known,
            "quantile: the delay before a hundred calls were seen.",
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
        if self.min_delay > self.max_delay {
            let least = Micros::from_duration(self.min_delay).as_micros();
            let rule = "must not be longer than hedging.max_delay";
            return Err(Invalid::new("hedging.min_delay", least, " µs", rule));
        }
        self.policy =
            TWICE_AT_ONCE.with_max_attempts(self.max_attempts)?.with_codes(self.non_fatal_codes);
        Ok(())
    }
}

impl Default for Hedging {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            quantile: None,
            min_delay: Duration::from_millis(1),
            max_delay: Duration::from_secs(1),
            until_known: Duration::from_secs(1),
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
