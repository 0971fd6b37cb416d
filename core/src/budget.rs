//! This file knows what one call may still spend of the time its whole request has.
//!
//! Why a budget, when every call has a timeout? A handler with three seconds left that makes
//! three calls with five-second timeouts works on long after its own caller has gone. Trimmed to
//! what is left, each call either helps or is not made.

use core::fmt;
use core::time::Duration;

use crate::{Deadline, Instant, Invalid, Micros};

/// How a request's time is handed out.
///
/// Default: no safety margin, a floor of 100 ms, and the floor may overrun (the rules of
/// grpc-client-kit).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BudgetPolicy {
    safety_margin: Micros,
    min_timeout: Micros,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Mode {
    Floor,
    Strict,
}

impl BudgetPolicy {
    /// No margin, floor 100 ms.
    pub const DEFAULT: Self = Self {
        safety_margin: Micros::ZERO,
        min_timeout: Micros::from_millis(100),
        mode: Mode::Floor,
    };

    /// With this much taken off when the budget is made, for the way back.
    ///
    /// # Errors
    ///
    /// Refuses a margin of 2^48 µs (8.9 years) or more.
    pub const fn with_safety_margin(mut self, margin: Duration) -> Result<Self, Invalid> {
        self.safety_margin = match Micros::setting("budget.safety_margin", margin) {
            Ok(margin) => margin,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With this floor: while anything is left, a call is granted at least this, even where it
    /// overruns. It is the one documented place where a deadline is widened, so that a nearly
    /// spent budget still makes one useful call instead of one that cannot succeed. Zero turns
    /// it off.
    ///
    /// # Errors
    ///
    /// Refuses a floor of 2^48 µs (8.9 years) or more.
    pub const fn with_min_timeout(mut self, floor: Duration) -> Result<Self, Invalid> {
        self.min_timeout = match Micros::setting("budget.min_timeout", floor) {
            Ok(floor) => floor,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// Strict: less left than the floor refuses, and no grant ever exceeds what is left.
    pub const fn strict(mut self) -> Self {
        self.mode = Mode::Strict;
        self
    }

    /// The safety margin.
    pub const fn safety_margin(&self) -> Micros {
        self.safety_margin
    }

    /// The floor.
    pub const fn min_timeout(&self) -> Micros {
        self.min_timeout
    }
}

impl Default for BudgetPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The time a whole request has, from where it entered.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{BudgetPolicy, DeadlineBudget, Instant, Micros};
///
/// let start = Instant::ZERO;
/// let budget =
///     DeadlineBudget::new(start, Duration::from_secs(3), BudgetPolicy::DEFAULT).unwrap();
/// let later = start + Micros::from_millis(1_000);
///
/// // Half a second is kept for the next call; without a cap the rest is granted.
/// let reserve = Micros::from_millis(500);
/// assert_eq!(budget.grant(later, reserve, None), Ok(Micros::from_millis(1_500)));
///
/// // Spent is refused, with both numbers.
/// let refused = budget.grant(start + Micros::from_millis(3_200), reserve, None).unwrap_err();
/// assert_eq!(refused.to_string(), "request budget spent: 3.20s elapsed, budget was 3.00s");
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DeadlineBudget {
    began: Instant,
    total: Micros,
    policy: BudgetPolicy,
}

impl DeadlineBudget {
    /// A budget of `total`, less the policy's safety margin, from `now` on.
    ///
    /// # Errors
    ///
    /// Refuses a `total` of zero or of 2^48 µs (8.9 years) and more, and a safety margin that
    /// leaves nothing of it.
    pub const fn new(now: Instant, total: Duration, policy: BudgetPolicy) -> Result<Self, Invalid> {
        let total = match Micros::positive_setting("budget.total", total) {
            Ok(total) => total,
            Err(invalid) => return Err(invalid),
        };
        let margin = policy.safety_margin;
        if margin.as_micros() >= total.as_micros() {
            let rule = "must be shorter than budget.total";
            return Err(Invalid::new("budget.safety_margin", margin.as_micros(), " µs", rule));
        }
        Ok(Self { began: now, total: total.minus(margin), policy })
    }

    /// The budget of a request that came in with `deadline`: what is left of it, less the safety
    /// margin. A deadline nearer than the margin gives a spent budget, not an error: the caller
    /// chose it, nobody configured it.
    ///
    /// `None` when there is no deadline: no budget is not an endless one.
    pub const fn until(now: Instant, deadline: Deadline, policy: BudgetPolicy) -> Option<Self> {
        if deadline.is_none() {
            return None;
        }
        let total = deadline.remaining(now).minus(policy.safety_margin);
        Some(Self { began: now, total, policy })
    }

    /// What one call may spend from `now` on, keeping `reserve` for those after it.
    ///
    /// In this order: nothing left refuses; what is left less the reserve, but at least the
    /// floor; at most `cap`. So the cap beats the floor and the floor beats the reserve. A reserve
    /// that takes all there is, without a floor, grants zero: with that nothing is sent.
    ///
    /// # Errors
    ///
    /// [`BudgetExhausted`] when nothing is left; in strict mode when less than the floor is left.
    pub fn grant(
        &self,
        now: Instant,
        reserve: Micros,
        cap: Option<Micros>,
    ) -> Result<Micros, BudgetExhausted> {
        let remaining = self.remaining(now);
        let floor = self.policy.min_timeout;
        let too_little = match self.policy.mode {
            Mode::Floor => false,
            Mode::Strict => remaining < floor,
        };
        if remaining.is_zero() || too_little {
            return Err(BudgetExhausted { elapsed: now.since(self.began), total: self.total });
        }
        let available = remaining.minus(reserve).longer(floor);
        Ok(available.shorter(cap.unwrap_or(Micros::MAX)))
    }

    /// What is left at `now`; zero once spent.
    pub const fn remaining(&self, now: Instant) -> Micros {
        self.total.minus(now.since(self.began))
    }

    /// Whether nothing is left at `now`.
    pub const fn is_expired(&self, now: Instant) -> bool {
        self.remaining(now).is_zero()
    }

    /// What it held at first, the margin already taken off.
    pub const fn total(&self) -> Micros {
        self.total
    }

    /// The instant from which on it is spent.
    pub const fn deadline(&self) -> Deadline {
        Deadline::at(self.began.after(self.total))
    }
}

/// A call that was not made because its request had no time left, or in strict mode less than the
/// floor.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BudgetExhausted {
    /// Time since the budget was made.
    pub elapsed: Micros,
    /// What the budget held at first.
    pub total: Micros,
}

impl fmt::Display for BudgetExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elapsed, total } = self;
        let how_far = if elapsed < total { "nearly spent" } else { "spent" };
        write!(f, "request budget {how_far}: {elapsed} elapsed, budget was {total}")
    }
}

impl core::error::Error for BudgetExhausted {}
