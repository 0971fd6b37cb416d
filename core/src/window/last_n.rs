//! This file knows the count window: the share of bad calls among the last N.

use super::{Bad, Trip, Verdict, check_percent, reaches};
use crate::{Instant, Invalid};

/// Opens when the bad share of the last `n` calls reaches a limit.
///
/// Default: 50 % of the last 100 calls, judged from 20 calls on. `WORDS` × 32 is the longest
/// window; the default of 4 words remembers 128 calls in 16 bytes.
///
/// ```
/// use evenkeel_core::{Instant, LastN, Trip, Verdict, checked};
///
/// const RULE: LastN = checked!(LastN::new(10, 5, 50));
/// let mut memory = LastN::<4>::EMPTY;
/// let now = Instant::ZERO;
/// for _ in 0..4 {
///     assert!(!RULE.count(&mut memory, now, Verdict::Failure), "too few calls to judge");
/// }
/// assert!(RULE.count(&mut memory, now, Verdict::Failure));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LastN<const WORDS: usize = 4> {
    n: u16,
    min_calls: u16,
    percent: u8,
    bad: Bad,
}

impl LastN<4> {
    /// 50 % of the last 100 calls, at least 20.
    pub const DEFAULT: Self = Self { n: 100, min_calls: 20, percent: 50, bad: Bad::Failures };
}

impl<const WORDS: usize> LastN<WORDS> {
    /// Opens when at least `percent` of the last `n` calls were bad, judged once `min_calls` have
    /// been seen.
    ///
    /// # Errors
    ///
    /// Refuses `n` of 0 or above 32 × `WORDS`, `min_calls` of 0 or above `n` (the window would
    /// never be judged), and a share outside 1..=100.
    pub const fn new(n: u16, min_calls: u16, percent: u8) -> Result<Self, Invalid> {
        if n == 0 || crate::num::widen16to_usize(n) > WORDS.saturating_mul(32) {
            let rule = "must be from 1 to 32 × WORDS calls (128 with LastN<4>, the default)";
            return Err(Invalid::new("breaker.window_calls", crate::num::widen16(n), "", rule));
        }
        if min_calls == 0 || min_calls > n {
            let rule = "must be from 1 to n, the calls in the window";
            return Err(Invalid::new(
                "breaker.min_calls",
                crate::num::widen16(min_calls),
                "",
                rule,
            ));
        }
        match check_percent(percent) {
            Ok(()) => Ok(Self { n, min_calls, percent, bad: Bad::Failures }),
            Err(invalid) => Err(invalid),
        }
    }

    /// The same window over other calls.
    pub const fn counting(mut self, bad: Bad) -> Self {
        self.bad = bad;
        self
    }

    /// How many calls it looks back.
    pub const fn n(&self) -> u16 {
        self.n
    }

    /// From how many calls on it is judged.
    pub const fn min_calls(&self) -> u16 {
        self.min_calls
    }

    /// The share of bad calls that opens, in percent.
    pub const fn percent(&self) -> u8 {
        self.percent
    }

    /// Which calls are bad.
    pub const fn bad(&self) -> Bad {
        self.bad
    }
}

impl Default for LastN<4> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What [`LastN`] remembers: a ring with one bit per call. A rule with another `n` begins anew: its
/// bits would be those of other calls.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LastNMemory<const WORDS: usize> {
    bits: [u32; WORDS],
    /// The oldest call once the ring is full, the next free place before.
    at: u16,
    calls: u16,
    bad: u16,
    /// Of the rule it counts for; 0 before the first call.
    n: u16,
}

impl<const WORDS: usize> LastNMemory<WORDS> {
    const EMPTY: Self = Self { bits: [0; WORDS], at: 0, calls: 0, bad: 0, n: 0 };

    fn push(&mut self, n: u16, is_bad: bool) {
        if self.n != n {
            *self = Self { n, ..Self::EMPTY };
        }
        let mask = 1u32.wrapping_shl(u32::from(self.at));
        let Some(word) = self.bits.get_mut(usize::from(self.at >> 5)) else { return };
        if self.calls < n {
            self.calls = self.calls.saturating_add(1);
        } else if *word & mask != 0 {
            self.bad = self.bad.saturating_sub(1);
        }
        if is_bad {
            *word |= mask;
            self.bad = self.bad.saturating_add(1);
        } else {
            *word &= !mask;
        }
        self.at = self.at.saturating_add(1);
        if self.at >= n {
            self.at = 0;
        }
    }
}

impl<const WORDS: usize> Trip for LastN<WORDS> {
    type Memory = LastNMemory<WORDS>;
    const EMPTY: Self::Memory = LastNMemory::EMPTY;

    fn count(&self, memory: &mut Self::Memory, _now: Instant, verdict: Verdict) -> bool {
        let is_bad = self.bad.matches(verdict);
        memory.push(self.n, is_bad);
        is_bad
            && memory.calls >= self.min_calls
            && reaches(u32::from(memory.bad), u32::from(memory.calls), self.percent)
    }

    fn bad(memory: &Self::Memory) -> u16 {
        memory.bad
    }

    fn is_quiet(_memory: &Self::Memory) -> bool {
        false
    }
}
