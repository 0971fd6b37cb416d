//! This file knows chance: everything a run draws comes from its seed, and from nothing else.

use core::time::Duration;

use evenkeel_core::{Random, SmallRng};

/// Draws for one purpose. Two purposes of one seed draw nothing in common, so that a draw more in
/// one place does not change every other.
pub(crate) struct Dice(SmallRng);

impl Dice {
    pub(crate) fn of(seed: u32, purpose: &str) -> Self {
        // FNV-1a; the generator mixes what it is seeded with.
        let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
        Self(SmallRng::seeded(seed ^ purpose.bytes().fold(2_166_136_261, hash)))
    }

    /// At least `low`, and below `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + u64::from(self.0.next_u32()) % (high - low)
    }

    /// So many milliseconds.
    pub(crate) fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    /// True in one case of so many.
    pub(crate) fn one_in(&mut self, cases: u64) -> bool {
        self.between(0, cases) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.between(0, among.len() as u64) as usize]
    }
}
