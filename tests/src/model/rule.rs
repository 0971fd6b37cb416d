//! This file knows the rules that open a breaker, written a second time: with lists of everything
//! that happened, where the core has counters and rings.

use std::collections::VecDeque;

use evenkeel_core::Verdict;

/// A rule with what it has seen.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the arguments of the rules' constructors")]
pub enum Rule {
    /// This many failures in a row.
    Consecutive { threshold: u16, failures: u16 },
    /// A share of the last `n` calls.
    LastN { n: usize, min_calls: usize, percent: usize, seen: VecDeque<bool> },
    /// A share of the calls in a window that slides by `bucket`, `buckets` of them.
    Window { bucket: u64, buckets: u64, min_calls: usize, percent: usize, seen: Vec<(u64, bool)> },
}

/// What a rule may answer: whether it may open, and whether it must.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opens {
    /// It may.
    pub may: bool,
    /// It must.
    pub must: bool,
}

impl Rule {
    /// Counts an attempt that ended at `now` with `verdict`.
    pub fn count(&mut self, now: u64, verdict: Verdict) -> Opens {
        let bad = verdict.is_failure();
        match self {
            Self::Consecutive { threshold, failures } => {
                *failures = if bad { *failures + 1 } else { 0 };
                exactly(*failures >= *threshold)
            }
            Self::LastN { n, min_calls, percent, seen } => {
                seen.push_back(bad);
                seen.drain(..seen.len().saturating_sub(*n));
                exactly(bad && reaches(seen.iter().copied(), *min_calls, *percent))
            }
            Self::Window { bucket, buckets, min_calls, percent, seen } => {
                // A clock that goes back stands still.
                let now = seen.last().map_or(now, |(last, _)| now.max(*last));
                seen.push((now, bad));
                // Where the edges of the buckets lie is the core's own business; any edge between
                // these two ages is a right one.
                let (sure, at_most) = (*bucket * (*buckets - 1), *bucket * *buckets);
                seen.retain(|(at, _)| now - at < at_most);
                let mut opens = Opens { may: false, must: bad };
                for first in 0..seen.len() {
                    let oldest_left_out = first.checked_sub(1).map(|last| now - seen[last].0);
                    if oldest_left_out.is_none_or(|age| age >= sure) {
                        let calls = seen[first..].iter().map(|(_, bad)| *bad);
                        let opened = bad && reaches(calls, *min_calls, *percent);
                        opens = Opens { may: opens.may || opened, must: opens.must && opened };
                    }
                }
                opens
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        match self {
            Self::Consecutive { failures, .. } => *failures = 0,
            Self::LastN { seen, .. } => seen.clear(),
            Self::Window { seen, .. } => seen.clear(),
        }
    }

    /// The bad calls remembered, where there is only one right number.
    pub fn bad(&self) -> Option<u16> {
        match self {
            Self::Consecutive { failures, .. } => Some(*failures),
            Self::LastN { seen, .. } => u16::try_from(seen.iter().filter(|bad| **bad).count()).ok(),
            Self::Window { .. } => None,
        }
    }

    /// What it has seen, relative to `now`.
    pub fn key(&self, now: u64) -> String {
        match self {
            Self::Consecutive { failures, .. } => failures.to_string(),
            Self::LastN { seen, .. } => format!("{seen:?}"),
            Self::Window { bucket, buckets, seen, .. } => {
                // Never with a clock that went back.
                let recent = seen.iter().filter(|(at, _)| now - at < *bucket * *buckets);
                format!("{:?}", recent.map(|(at, bad)| (now - at, *bad)).collect::<Vec<_>>())
            }
        }
    }
}

fn exactly(opens: bool) -> Opens {
    Opens { may: opens, must: opens }
}

fn reaches(calls: impl Iterator<Item = bool> + Clone, min_calls: usize, percent: usize) -> bool {
    let bad = calls.clone().filter(|bad| *bad).count();
    let all = calls.count();
    all >= min_calls && bad * 100 >= percent * all
}
