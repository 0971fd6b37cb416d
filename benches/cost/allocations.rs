//! This file knows how allocations are counted.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::case::{Case, FEW, MANY, each};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What one more time of a case allocates.
#[derive(Clone, Copy)]
pub(crate) struct Allocations {
    /// A reallocation counts as one: it may move.
    pub(crate) count: f64,
    /// Of the allocations; a reallocation adds what it grows by.
    pub(crate) bytes: f64,
}

impl Allocations {
    pub(crate) fn of(case: &Case) -> Self {
        // What the first call of all sets up is then there for both.
        case.run(FEW);
        let (few, many) = (total(case, FEW), total(case, MANY));
        Self { count: each(few.0, many.0), bytes: each(few.1, many.1) }
    }
}

fn total(case: &Case, times: u64) -> (u64, u64) {
    let region = Region::new(ALLOCATOR);
    case.run(times);
    let stats = region.change();
    let grown = usize::try_from(stats.bytes_reallocated).unwrap_or(0);
    let (count, bytes) = (stats.allocations + stats.reallocations, stats.bytes_allocated + grown);
    (count as u64, bytes as u64)
}
