//! This file knows the settings of hedging: when another attempt goes out, how many do, and after
//! which failures.

use core::time::Duration;

use evenkeel_settings::Hedging;
use evenkeel_tokio::core::{
    Backoff, CallPolicy, CodeSet, Invalid, Micros, RetryPolicy, RunningQuantile, checked,
};

/// Another attempt beside one that has not answered in time (gRPC A6): the first answer wins, and
/// the others are cancelled.
///
/// Default: one more attempt, once 95 in 100 would have answered; `UNAVAILABLE` and
/// `RESOURCE_EXHAUSTED` are followed by the next attempt at once, and any other failure ends the
/// call. So 5 % more is sent, and what the slowest calls wait for is the faster of two servers.
///
/// A listed method is hedged and not retried: its attempts are `hedging.max_attempts`, those of
/// this policy, whatever [`Builder::retry`](crate::Builder::retry) says.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tonic::{HedgePolicy, core::CodeSet};
///
/// let policy = HedgePolicy::after(Duration::from_millis(50))?
///     .with_max_attempts(3)?
///     .with_non_fatal_codes(CodeSet::EMPTY);
/// assert_eq!(policy.max_attempts(), 3);
/// assert!(policy.with_max_attempts(1).is_err(), "that would not be hedging");
/// # Ok::<(), evenkeel_tonic::core::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct HedgePolicy {
    delay: HedgeDelay,
    max_attempts: u16,
    non_fatal_codes: CodeSet,
}

/// How long an attempt may take before another is sent beside it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum HedgeDelay {
    /// Always so long. Zero sends all attempts at once, so that every call costs all of them.
    Fixed(Duration),
    /// As long as most first attempts of the method took, of about the last thousand; see
    /// [`RunningQuantile`](crate::core::RunningQuantile) for how exactly that is known.
    ///
    /// Counted are the calls that may be hedged, each with its first attempt: until it succeeded,
    /// or until the call ended without it. One that failed before, and one whose caller went away,
    /// say nothing.
    Quantile {
        /// The share that is fast enough, in thousandths, 500 to 990: 950 hedges one call in 20.
        thousandths: u16,
        /// The delay is never shorter: a method that answers from a cache is not worth a hedge.
        min: Duration,
        /// The delay is never longer, however slow the method has become.
        max: Duration,
        /// The delay before a hundred calls were seen.
        until_known: Duration,
    },
}

impl HedgePolicy {
    /// One more attempt after the 95th percentile, of at least 1 ms and at most 1 s, and after 1 s
    /// before it is known.
    pub const DEFAULT: Self = Self {
        delay: HedgeDelay::Quantile {
            thousandths: 950,
            min: Duration::from_millis(1),
            max: Duration::from_secs(1),
            until_known: Duration::from_secs(1),
        },
        max_attempts: 2,
        non_fatal_codes: CodeSet::RETRYABLE,
    };

    /// One more attempt after this delay.
    ///
    /// # Errors
    ///
    /// As [`with_delay`](Self::with_delay).
    pub const fn after(delay: Duration) -> Result<Self, Invalid> {
        Self::DEFAULT.with_delay(HedgeDelay::Fixed(delay))
    }

    /// With this delay before each attempt but the first.
    ///
    /// # Errors
    ///
    /// Refuses spans of 2^48 µs (8.9 years) or more, a share that is not 500 to 990 thousandths,
    /// and a `min` longer than `max`.
    pub const fn with_delay(mut self, delay: HedgeDelay) -> Result<Self, Invalid> {
        let checked = match delay {
            HedgeDelay::Fixed(delay) => Micros::setting("hedging.delay", delay),
            HedgeDelay::Quantile { thousandths, min, max, until_known } => {
                check_quantile(thousandths, min, max, until_known)
            }
        };
        match checked {
            Ok(_) => {}
            Err(invalid) => return Err(invalid),
        }
        self.delay = delay;
        Ok(self)
    }

    /// With this many attempts, the first included.
    ///
    /// # Errors
    ///
    /// Refuses less than 2, which would not hedge, and more than 5, which A6 does not allow.
    pub const fn with_max_attempts(mut self, attempts: u16) -> Result<Self, Invalid> {
        if attempts < 2 || attempts > MOST {
            let rule = "must be 2 to 5; it counts the first attempt";
            return Err(Invalid::new("hedging.max_attempts", attempts as u64, "", rule));
        }
        self.max_attempts = attempts;
        Ok(self)
    }

    /// With these codes followed by the next attempt at once. Any other failure ends the call,
    /// whatever is under way. A6's own default is none; but a method that is hedged is not retried,
    /// and would then fail with every connection that breaks.
    pub const fn with_non_fatal_codes(mut self, codes: CodeSet) -> Self {
        self.non_fatal_codes = codes;
        self
    }

    /// The delay before each attempt but the first.
    pub const fn delay(&self) -> HedgeDelay {
        self.delay
    }

    /// How many attempts a call has, the first included.
    pub const fn max_attempts(&self) -> u16 {
        self.max_attempts
    }

    /// The codes that are followed by the next attempt at once.
    pub const fn non_fatal_codes(&self) -> CodeSet {
        self.non_fatal_codes
    }

    /// The delay before anything was measured.
    pub(super) const fn first_delay(&self) -> Micros {
        match self.delay {
            HedgeDelay::Fixed(delay) => Micros::from_duration(delay),
            HedgeDelay::Quantile { until_known, .. } => Micros::from_duration(until_known),
        }
    }

    /// `call` with its attempts hedged instead of retried.
    pub(crate) fn over(&self, call: CallPolicy) -> CallPolicy {
        // Neither is refused: both were checked.
        let retry = AT_ONCE.with_codes(self.non_fatal_codes);
        let retry = retry.with_max_attempts(self.max_attempts).unwrap_or(retry);
        let delay = self.first_delay().as_duration();
        call.with_retry(retry).with_hedge_after(delay).unwrap_or(call)
    }
}

impl Default for HedgePolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl From<&Hedging> for HedgePolicy {
    fn from(section: &Hedging) -> Self {
        let delay = match section.quantile() {
            None => HedgeDelay::Fixed(section.delay()),
            Some(thousandths) => HedgeDelay::Quantile {
                thousandths,
                min: section.min_delay(),
                max: section.max_delay(),
                until_known: section.until_known(),
            },
        };
        Self {
            delay,
            max_attempts: section.policy().max_attempts(),
            non_fatal_codes: section.policy().codes(),
        }
    }
}

const fn check_quantile(
    thousandths: u16,
    min: Duration,
    max: Duration,
    until_known: Duration,
) -> Result<Micros, Invalid> {
    if let Err(invalid) = RunningQuantile::new(thousandths) {
        let (value, unit, rule) = (invalid.value(), invalid.unit(), invalid.rule());
        return Err(Invalid::new("hedging.quantile", value, unit, rule));
    }
    let (least, most) = match (
        Micros::setting("hedging.min_delay", min),
        Micros::setting("hedging.max_delay", max),
    ) {
        (Ok(least), Ok(most)) => (least, most),
        (Err(invalid), _) | (_, Err(invalid)) => return Err(invalid),
    };
    if least.as_micros() > most.as_micros() {
        let rule = "must not be longer than hedging.max_delay";
        return Err(Invalid::new("hedging.min_delay", least.as_micros(), " µs", rule));
    }
    Micros::setting("hedging.until_known", until_known)
}

/// What fails is followed by the next attempt without a wait.
const AT_ONCE: RetryPolicy =
    RetryPolicy::DEFAULT.with_backoff(checked!(Backoff::new(Duration::ZERO, Duration::ZERO)));

/// As many as A6 allows.
pub(super) const MOST: u16 = 5;
