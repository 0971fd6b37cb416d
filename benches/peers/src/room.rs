//! This file knows how much room an entry of a million takes.

use std::alloc::System;

use evenkeel_core::Clock;
use evenkeel_std::{SharedTable, StdClock};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::keyed::{Failsafe, Governor, Keyed, Ours};

/// Prints the bytes asked of the allocator for each entry, less those of its key.
pub(crate) fn print() {
    println!("{:<36} {:>7}", "1,000,000 entries of 8-byte keys", "bytes");
    line(Failsafe::NAME, || Failsafe::with_keys(ENTRIES));
    line(Governor::NAME, || Governor::with_keys(ENTRIES));
    line(Ours::<StdClock>::NAME, || Ours::<StdClock>::with_keys(ENTRIES));
    line("evenkeel, after as many newcomers", || {
        let room = usize::try_from(ENTRIES).expect("fewer than memory has bytes");
        let table = SharedTable::<u64>::new(room).expect("room for one or more");
        for key in 0..2 * ENTRIES {
            _ = table.lookup_with(StdClock.now(), &key, || key);
        }
        table
    });
    println!();
}

fn line<T>(name: &str, make: impl FnOnce() -> T) {
    let region = Region::new(ALLOCATOR);
    let kept = make();
    let stats = region.change();
    drop(kept);
    let allocated = stats.bytes_allocated as f64 - stats.bytes_deallocated as f64;
    let bytes = allocated + stats.bytes_reallocated as f64;
    println!("  {name:<34} {:>7.1}", bytes / ENTRIES as f64 - KEY);
}

static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ENTRIES: u64 = 1_000_000;
const KEY: f64 = 8.0;
