//! This file knows how many bytes are in use.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::sync::{Mutex, MutexGuard};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

pub(crate) const KIB: usize = 1024;
pub(crate) const MIB: usize = 1024 * KIB;

/// One test at a time: the bytes of all of them are one number.
pub(crate) async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// The bytes in use.
pub(crate) fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

/// How many bytes were ever asked for, and how often.
pub(crate) fn asked_for() -> (usize, usize) {
    let stats = ALLOCATOR.stats();
    (stats.bytes_allocated, stats.allocations + stats.reallocations)
}

/// Refuses more than `most` bytes over `before`.
#[track_caller]
pub(crate) fn at_most(most: usize, before: usize) {
    let now = in_use();
    assert!(now <= before + most, "{} KiB more", (now - before) / KIB);
}
