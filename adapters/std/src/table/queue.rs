//! This file knows who was used when, and keeps those who may have to go in that order.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use evenkeel_core::Instant;

/// When an entry was used: the time, and within a microsecond the order.
///
/// ```text
///   63                 12 11        0
///   microseconds           the how many-th of that microsecond
/// ```
///
/// After 4,096 lookups at one instant the order runs on into the next microsecond; 52 bits of them
/// are 142 years, and any later instant is taken for the last of these.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// The first of `now`.
    pub(super) fn of(now: Instant) -> Self {
        Self(now.as_micros().min(u64::MAX >> ORDER_BITS) << ORDER_BITS)
    }

    pub(super) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    pub(super) const fn instant(self) -> Instant {
        Instant::from_micros(self.0 >> ORDER_BITS)
    }

    pub(super) const fn to_bits(self) -> u64 {
        self.0
    }

    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

const ORDER_BITS: u32 = 12;

/// An entry as it was when it was last looked at.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Candidate {
    pub(super) used: Stamp,
    pub(super) hash: u64,
}

/// Candidates, the least recently used first.
///
/// Most come in order, as the most recently used of all: they cost nothing but their place. The
/// others go through a heap.
#[derive(Debug, Default)]
pub(super) struct Queue {
    in_order: VecDeque<Candidate>,
    others: BinaryHeap<Reverse<Candidate>>,
}

impl Queue {
    pub(super) fn new(mut candidates: Vec<Candidate>) -> Self {
        candidates.sort_unstable();
        Self { in_order: candidates.into(), others: BinaryHeap::new() }
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        if self.in_order.back().is_none_or(|newest| *newest <= candidate) {
            self.in_order.push_back(candidate);
        } else {
            self.others.push(Reverse(candidate));
        }
    }

    pub(super) fn peek(&self) -> Option<Candidate> {
        let other = self.others.peek().map(|Reverse(candidate)| *candidate);
        let first = self.in_order.front().copied();
        match (first, other) {
            (Some(first), Some(other)) => Some(first.min(other)),
            (first, other) => first.or(other),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Candidate> {
        let next = self.peek()?;
        if self.in_order.front() == Some(&next) {
            self.in_order.pop_front()
        } else {
            self.others.pop().map(|Reverse(candidate)| candidate)
        }
    }

    /// Moves those out that `keep` does not want, in no particular order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Candidate) -> bool) {
        self.in_order.retain(|candidate| keep(*candidate));
        self.others.retain(|Reverse(candidate)| keep(*candidate));
    }

    pub(super) fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Instant, Queue, Stamp};

    fn candidate(used: u64) -> Candidate {
        Candidate { used: Stamp::from_bits(used), hash: 0 }
    }

    #[test]
    fn whoever_comes_out_of_order_is_put_in_its_place() {
        let mut queue = Queue::new([5, 3, 9].map(candidate).to_vec());
        [4, 12, 1, 11, 12].into_iter().for_each(|used| queue.push(candidate(used)));
        assert_eq!(queue.len(), 8);
        queue.retain(|candidate| candidate.used.to_bits() != 4);
        let popped: Vec<_> = core::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(popped, [1, 3, 5, 9, 11, 12, 12].map(candidate));
    }

    #[test]
    fn stamps_keep_time_and_order() {
        let noon = Instant::from_micros(12);
        assert_eq!(Stamp::of(noon).next().instant(), noon);
        assert!(Stamp::of(noon) < Stamp::of(noon).next());
        assert!(Stamp::of(noon).next() < Stamp::of(Instant::from_micros(13)));
        let last = Stamp::of(Instant::MAX);
        assert_eq!(last, Stamp::of(Instant::from_micros(1 << 52)));
        assert!((0..10_000).fold(last, |stamp, _| stamp.next()) >= last);
    }
}
