//! This file knows how much memory is in use, and whether it is more and more.
//!
//! Counted by the allocator, because what is resident also says how well old holes were filled; that
//! is printed beside it, for people.

use core::fmt;
use std::alloc::System;
use std::fs;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The bytes in use, in everything: callers, proxies and servers are one process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch(usize);

pub(crate) fn now() -> Watch {
    let stats = ALLOCATOR.stats();
    Watch(stats.bytes_allocated.saturating_sub(stats.bytes_deallocated))
}

/// Refuses memory that has grown by more than a tenth and a MiB between any two of the `marks`. Not
/// only by the last: by then the callers have ended, and what they held is no longer in it.
pub(crate) fn flat(marks: &[Watch]) -> Result<(), String> {
    for (end, Watch(later)) in marks.iter().enumerate() {
        let grown = |Watch(mark): &&Watch| *later > mark + mark / 10 + MIB;
        if let Some(mark) = marks[..end].iter().find(grown) {
            return Err(format!("memory grew from {mark} to {}", Watch(*later)));
        }
    }
    Ok(())
}

/// Refuses more than a MiB over `before`, now that everything that called is gone.
pub(crate) fn given_back(before: Watch) -> Result<(), String> {
    let Watch(now) = now();
    println!("left: {} KiB more than before the first call", now.saturating_sub(before.0) / 1024);
    if now > before.0 + MIB {
        return Err(format!("memory was {before} before the first call, and is {}", Watch(now)));
    }
    Ok(())
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} KiB in use", self.0 / 1024)?;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.map_or(Ok(()), |line| write!(f, " ({} resident now)", line.trim()))
    }
}

const MIB: usize = 1024 * 1024;
