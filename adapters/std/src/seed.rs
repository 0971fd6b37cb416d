//! This file knows where a server's seeds come from: the operating system, once per thread.

use core::cell::RefCell;
use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

use evenkeel_core::{Random, SmallRng};

/// A seed for one call: unpredictable, and unrelated to those of other calls and processes.
///
/// ```
/// assert_ne!(evenkeel_std::fresh_seed(), evenkeel_std::fresh_seed());
/// ```
pub fn fresh_seed() -> u32 {
    thread_local! {
        static SEEDS: RefCell<SmallRng> = RefCell::new(SmallRng::seeded(entropy()));
    }
    SEEDS.with_borrow_mut(Random::next_u32)
}

/// std seeds its hash maps from the operating system, and that is the way to it without `unsafe`
/// or another dependency.
fn entropy() -> u32 {
    let hash = RandomState::new().build_hasher().finish();
    (hash >> 32) as u32 ^ hash as u32
}
