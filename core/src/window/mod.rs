//! This file knows the rules that open a breaker, and what each must remember.
//!
//! A rule's memory lives inside the breaker's closed state, so a firmware that uses
//! [`Consecutive`] pays no RAM for windows. Windows age by elapsed time or by calls made, in
//! constant time per call and at most once around the ring after any idle time; a window that is
//! only thrown away at fixed moments (a "tumbling" one) would judge the first seconds after each
//! of them on next to nothing.

mod last_n;
mod time_window;

use core::fmt::Debug;
use core::hash::Hash;

pub use last_n::{LastN, LastNMemory};
pub use time_window::{TimeWindow, TimeWindowMemory};

use crate::{Instant, Invalid};

/// What an attempt's end says about its target.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// It failed.
    Failure,
    /// Nothing: it neither counts nor resets anything.
    Ignored,
    /// It failed, and took longer than the slow-call limit.
    SlowFailure,
    /// It worked, but took longer than the slow-call limit.
    SlowSuccess,
    /// It worked.
    Success,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Failure, Self::Ignored, Self::SlowFailure, Self::SlowSuccess, Self::Success];

    /// Whether the attempt failed.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failure | Self::SlowFailure)
    }

    /// Whether the attempt was slow.
    pub const fn is_slow(self) -> bool {
        matches!(self, Self::SlowFailure | Self::SlowSuccess)
    }
}

/// What a window counts as bad.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Bad {
    /// Failed attempts.
    Failures,
    /// Attempts that took longer than the breaker's slow-call limit.
    SlowCalls,
}

impl Bad {
    const fn matches(self, verdict: Verdict) -> bool {
        match self {
            Self::Failures => verdict.is_failure(),
            Self::SlowCalls => verdict.is_slow(),
        }
    }
}

/// A rule that opens a closed breaker.
pub trait Trip: Copy {
    /// What it remembers while the breaker is closed.
    type Memory: Copy + Debug + Eq + Hash;

    /// Nothing remembered. All zero in memory, so that tables live in `.bss`.
    const EMPTY: Self::Memory;

    /// Counts an attempt that ended with `verdict` (never [`Verdict::Ignored`]) and answers
    /// whether the breaker opens. A plain success never opens it.
    fn count(&self, memory: &mut Self::Memory, now: Instant, verdict: Verdict) -> bool;

    /// How many bad attempts are remembered; for snapshots. Does not age the window.
    fn bad(memory: &Self::Memory) -> u16;

    /// Whether counting a success would change nothing; a shared cell then skips the lock.
    fn is_quiet(memory: &Self::Memory) -> bool;
}

/// Opens after a number of failures in a row; a success starts the count over.
///
/// Default: 5 (grpc-client-kit). Cheap and sharp where failures come as outages. Where a peer
/// fails a *share* of its calls it opens by chance: at 20 % failures and 100 calls/s a run of
/// five comes every 40 s or so. Prefer [`TimeWindow`] there.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Consecutive {
    threshold: u16,
}

impl Consecutive {
    /// Five failures in a row.
    pub const DEFAULT: Self = Self { threshold: 5 };

    /// Opens at the `threshold`-th failure in a row.
    ///
    /// # Errors
    ///
    /// Refuses 0: such a breaker would be open before the first call.
    pub const fn new(threshold: u16) -> Result<Self, Invalid> {
        if threshold == 0 {
            let rule = "must be 1 or more failures in a row";
            return Err(Invalid::new("breaker.fail_threshold", 0, "", rule));
        }
        Ok(Self { threshold })
    }

    /// The number of failures in a row that opens the breaker.
    pub const fn threshold(&self) -> u16 {
        self.threshold
    }
}

impl Default for Consecutive {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Trip for Consecutive {
    type Memory = u16;
    const EMPTY: u16 = 0;

    fn count(&self, memory: &mut u16, _now: Instant, verdict: Verdict) -> bool {
        if !verdict.is_failure() {
            *memory = 0;
            return false;
        }
        *memory = memory.saturating_add(1);
        *memory >= self.threshold
    }

    fn bad(memory: &u16) -> u16 {
        *memory
    }

    fn is_quiet(memory: &u16) -> bool {
        *memory == 0
    }
}

/// Two rules at once: opens when either does. For a failure share *and* a slow-call share.
///
/// ```
/// use evenkeel_core::{AnyOf, Bad, BreakerPolicy, CircuitBreaker, TimeWindow};
///
/// type Rule = AnyOf<TimeWindow<10>, TimeWindow<10>>;
/// const RULE: Rule = AnyOf {
///     first: TimeWindow::DEFAULT,
///     second: TimeWindow::DEFAULT.counting(Bad::SlowCalls),
/// };
/// let policy = BreakerPolicy::new(RULE);
/// let breaker = CircuitBreaker::<Rule>::closed();
/// # let _ = (policy, breaker);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AnyOf<A, B> {
    /// One rule.
    pub first: A,
    /// The other.
    pub second: B,
}

impl<A: Trip, B: Trip> Trip for AnyOf<A, B> {
    type Memory = (A::Memory, B::Memory);
    const EMPTY: Self::Memory = (A::EMPTY, B::EMPTY);

    fn count(&self, memory: &mut Self::Memory, now: Instant, verdict: Verdict) -> bool {
        // Both must count, whatever the first answers.
        let first = self.first.count(&mut memory.0, now, verdict);
        self.second.count(&mut memory.1, now, verdict) || first
    }

    fn bad(memory: &Self::Memory) -> u16 {
        A::bad(&memory.0).max(B::bad(&memory.1))
    }

    fn is_quiet(memory: &Self::Memory) -> bool {
        A::is_quiet(&memory.0) && B::is_quiet(&memory.1)
    }
}

/// `bad` of `all` calls are at least `percent` of them, without a division.
fn reaches(bad: u32, all: u32, percent: u8) -> bool {
    u64::from(bad).saturating_mul(100) >= u64::from(all).saturating_mul(u64::from(percent))
}

const fn check_percent(percent: u8) -> Result<(), Invalid> {
    if percent == 0 || percent > 100 {
        let rule = "must be from 1 to 100 percent";
        return Err(Invalid::new("breaker.share", crate::num::widen8to64(percent), " %", rule));
    }
    Ok(())
}
