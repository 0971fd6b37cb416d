//! This file knows where a server's seeds come from: the operating system, once per thread.

use core::cell::Cell;
use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

/// A seed for one call: unpredictable, and unrelated to those of other calls and processes.
///
/// ```
/// assert_ne!(evenkeel_std::fresh_seed(), evenkeel_std::fresh_seed());
/// ```
pub fn fresh_seed() -> u32 {
    thread_local! {
        static LAST: Cell<u32> = const { Cell::new(0) };
    }
    let last = match LAST.get() {
        0 => entropy(),
        last => last,
    };
    // Through all of them, in an order that whoever is given one mixes up: see `SmallRng::seeded`.
    let seed = last.wrapping_add(GOLDEN);
    LAST.set(seed);
    seed
}

/// std seeds its hash maps from the operating system, and that is the way to it without `unsafe`
/// or another dependency.
#[cold]
fn entropy() -> u32 {
    let hash = RandomState::new().build_hasher().finish();
    (hash >> 32) as u32 ^ hash as u32
}

/// Odd, so that every number has its turn.
const GOLDEN: u32 = 0x9e37_79b9;
