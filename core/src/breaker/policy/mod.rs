//! This file knows the settings of a breaker: when it opens, for how long, and how it closes.

mod open_time;

use core::time::Duration;

use crate::linked::Linked;
use crate::num::{ONE_Q16, q16_to_thousandths, widen, widen16};
use crate::{Code, CodeSet, Consecutive, Invalid, Micros, Report, Trip, Verdict};

/// When a breaker opens, for how long, and what closes it again.
///
/// Default (grpc-client-kit): five failures in a row open it for 60 s; then one trial at a time,
/// and one success closes it. Open times neither grow nor vary unless told to.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{BreakerPolicy, Micros, TimeWindow, checked};
///
/// // The default rule, but quick to come back, spread, and patient with a peer that stays away.
/// const QUICK: BreakerPolicy = checked!(
///     checked!(BreakerPolicy::DEFAULT.with_open_for(Duration::from_secs(5)))
///         .with_growth(2_000, Duration::from_secs(60))
/// );
/// // Half the calls of the last ten seconds.
/// const SHARE: BreakerPolicy<TimeWindow> = BreakerPolicy::new(TimeWindow::DEFAULT);
/// assert_eq!(QUICK.open_for(), Micros::from_millis(5_000));
/// assert_eq!(SHARE.max_trials(), 1);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BreakerPolicy<T: Trip = Consecutive> {
    trip: T,
    failures: CodeSet,
    slow_after: Micros,
    open_for: Micros,
    /// The open time, a second at least: the lease of an attempt without a deadline.
    lease_for: Micros,
    max_open: Micros,
    growth: u32,
    jitter: u32,
    seed: u32,
    open_time: Linked<fn(&Self, u32, u8) -> Micros>,
    max_trials: u8,
    successes_to_close: u8,
}

impl BreakerPolicy {
    /// Five failures in a row, open for 60 s, one trial at a time, one success closes.
    pub const DEFAULT: Self = Self::new(Consecutive::DEFAULT);
}

impl<T: Trip> BreakerPolicy<T> {
    /// The rule `trip`, and the defaults for everything else.
    pub const fn new(trip: T) -> Self {
        Self {
            trip,
            failures: CodeSet::FAILURES,
            slow_after: Micros::MAX,
            open_for: Micros::from_millis(60_000),
            lease_for: Micros::from_millis(60_000),
            max_open: Micros::SETTING_END,
            growth: ONE_Q16,
            jitter: 0,
            seed: 0,
            open_time: Linked(Self::constant),
            max_trials: 1,
            successes_to_close: 1,
        }
    }

    /// With these codes counted as failures.
    ///
    /// `OK` and `CANCELLED` are never counted, whatever the set says: a caller who walks away
    /// says nothing about the peer.
    pub const fn with_failures(mut self, failures: CodeSet) -> Self {
        self.failures = failures;
        self
    }

    /// With calls longer than `limit` counted as slow, for rules that look at
    /// [`Bad::SlowCalls`](crate::Bad::SlowCalls). A slow trial reopens the breaker. There is no
    /// default: how slow is too slow is a fact of the method.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub const fn with_slow_after(mut self, limit: Duration) -> Result<Self, Invalid> {
        self.slow_after = match Micros::positive_setting("breaker.slow_after", limit) {
            Ok(limit) => limit,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With this time from opening to the first trial. Zero lets a trial through at once.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_open_for(mut self, span: Duration) -> Result<Self, Invalid> {
        self.open_for = match Micros::setting("breaker.recovery_timeout", span) {
            Ok(span) => span,
            Err(invalid) => return Err(invalid),
        };
        self.lease_for = self.open_for.longer(Micros::from_millis(1_000));
        Ok(self)
    }

    /// With open times that are multiplied by `thousandths`/1000 with every reopening in a row, up
    /// to `max_open`; a `max_open` below the open time wins.
    ///
    /// # Errors
    ///
    /// Refuses a factor below 1000 (open times would shrink) or above 65,535,000, and a `max_open`
    /// of zero or of 2^48 µs (8.9 years) and more.
    pub const fn with_growth(
        mut self,
        thousandths: u32,
        max_open: Duration,
    ) -> Result<Self, Invalid> {
        if thousandths < 1_000 || thousandths > 65_535_000 {
            let rule = "must be from 1000 (constant) to 65535000, in thousandths";
            return Err(Invalid::new("breaker.growth", widen(thousandths), "/1000", rule));
        }
        self.growth = crate::num::thousandths_to_q16(thousandths);
        self.open_time = Linked(Self::varying);
        self.max_open = match Micros::positive_setting("breaker.max_open", max_open) {
            Ok(max_open) => max_open,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With open times spread by ± `thousandths`, drawn from `seed`: a fleet whose members share
    /// one seed tries again in step, so give each its own.
    ///
    /// # Errors
    ///
    /// Refuses a share above 1000 thousandths.
    pub const fn with_open_jitter(mut self, thousandths: u16, seed: u32) -> Result<Self, Invalid> {
        if thousandths > 1_000 {
            let rule = "must be from 0 to 1000, in thousandths of the open time";
            return Err(Invalid::new("breaker.jitter", widen16(thousandths), "/1000", rule));
        }
        self.jitter = crate::num::share_to_q16(thousandths);
        self.seed = seed;
        self.open_time = Linked(Self::varying);
        Ok(self)
    }

    /// With this many trials at a time while half-open.
    ///
    /// # Errors
    ///
    /// Refuses 0: the breaker could never close again.
    pub const fn with_max_trials(mut self, trials: u8) -> Result<Self, Invalid> {
        if trials == 0 {
            let rule = "must be 1 or more trials at a time";
            return Err(Invalid::new("breaker.half_open_max_calls", 0, "", rule));
        }
        self.max_trials = trials;
        Ok(self)
    }

    /// With this many successful trials of one half-open period before it closes.
    ///
    /// # Errors
    ///
    /// Refuses 0: the breaker would close without evidence.
    pub const fn with_successes_to_close(mut self, successes: u8) -> Result<Self, Invalid> {
        if successes == 0 {
            let rule = "must be 1 or more successful trials";
            return Err(Invalid::new("breaker.successes_to_close", 0, "", rule));
        }
        self.successes_to_close = successes;
        Ok(self)
    }

    /// The same settings with another rule.
    pub const fn with_trip<U: Trip>(self, trip: U) -> BreakerPolicy<U> {
        // What grows has an end.
        let capped = self.max_open.as_micros() < Micros::SETTING_END.as_micros();
        let varies = capped || self.jitter != 0;
        let open_time: fn(&BreakerPolicy<U>, u32, u8) -> Micros =
            if varies { BreakerPolicy::varying } else { BreakerPolicy::constant };
        BreakerPolicy {
            trip,
            failures: self.failures,
            slow_after: self.slow_after,
            open_for: self.open_for,
            lease_for: self.lease_for,
            max_open: self.max_open,
            growth: self.growth,
            jitter: self.jitter,
            seed: self.seed,
            open_time: Linked(open_time),
            max_trials: self.max_trials,
            successes_to_close: self.successes_to_close,
        }
    }

    /// The rule that opens it.
    pub const fn trip(&self) -> &T {
        &self.trip
    }

    /// Time from opening to the first trial, before growth and jitter.
    pub const fn open_for(&self) -> Micros {
        self.open_for
    }

    /// What the open time is multiplied by with every reopening in a row, in thousandths.
    pub const fn growth(&self) -> u32 {
        q16_to_thousandths(self.growth)
    }

    /// No open time is longer; [`Micros::SETTING_END`] for no limit.
    pub const fn max_open(&self) -> Micros {
        self.max_open
    }

    /// By how much open times are spread to either side, in thousandths of them.
    pub const fn open_jitter(&self) -> u32 {
        q16_to_thousandths(self.jitter)
    }

    /// The codes that are failures of the target.
    pub const fn failures(&self) -> CodeSet {
        self.failures
    }

    /// A call that takes longer is slow; [`Micros::MAX`] where none is.
    pub const fn slow_after(&self) -> Micros {
        self.slow_after
    }

    /// How many trials may be under way at a time.
    pub const fn max_trials(&self) -> u8 {
        self.max_trials
    }

    /// How many successful trials close it.
    pub const fn successes_to_close(&self) -> u8 {
        self.successes_to_close
    }

    /// What the end of an attempt says to a breaker with this policy.
    pub fn verdict(&self, report: &Report) -> Verdict {
        let code = report.outcome.code;
        if !report.counts() || matches!(code, Code::Cancelled) {
            return Verdict::Ignored;
        }
        let slow = report.took > self.slow_after;
        if report.is_success() {
            return if slow { Verdict::SlowSuccess } else { Verdict::Success };
        }
        if !self.failures.contains(code) {
            return Verdict::Ignored;
        }
        if slow { Verdict::SlowFailure } else { Verdict::Failure }
    }
}

impl<T: Trip + Default> Default for BreakerPolicy<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
