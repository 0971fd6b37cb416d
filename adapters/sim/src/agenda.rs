//! This file knows what happens next: the events of a simulated world, in the order of their time.
//!
//! A radix heap ("Faster Algorithms for the Shortest Path Problem", Ahuja, Mehlhorn, Orlin and
//! Tarjan, 1990) with digits of four bits. Simulated time never goes back, and such a queue may use
//! that: an event is filed by the highest digit in which its time differs from now, and moves down
//! through sequential memory a few times instead of being compared across all of it, so a million
//! waiting events cost little more each than a thousand. Events of one instant come out in the
//! order they went in, which is what makes a run repeatable.

use core::mem;

/// Events by time. [`push`](Self::push) anything not before the last one popped.
///
/// ```
/// use evenkeel_sim::Agenda;
///
/// let mut agenda = Agenda::new();
/// for (at, event) in [(30, "late"), (10, "first"), (10, "second")] {
///     agenda.push(at, event);
/// }
/// assert_eq!(agenda.pop(), Some((10, "first")));
/// assert_eq!(agenda.pop(), Some((10, "second")));
/// // What is already past happens now.
/// agenda.push(3, "overdue");
/// assert_eq!(agenda.pop(), Some((10, "overdue")));
/// assert_eq!(agenda.pop(), Some((30, "late")));
/// assert_eq!(agenda.pop(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Agenda<E> {
    /// What is due at `last`, from `head` on.
    due: Vec<E>,
    head: usize,
    last: u64,
    /// `later[16 * l + d]`: events whose time first differs from `last` in digit `l`, where it has
    /// `d`, which is more than `last` has there.
    later: Vec<Vec<(u64, E)>>,
    /// For each digit, a bit for each value under which something is filed.
    occupied: [u16; DIGITS],
    /// A bit for each digit that has any.
    digits: u16,
    len: usize,
}

impl<E: Copy> Agenda<E> {
    /// An empty one, at time 0.
    pub fn new() -> Self {
        let later = core::iter::repeat_with(Vec::new).take(DIGITS * VALUES).collect();
        let occupied = [0; DIGITS];
        Self { due: Vec::new(), head: 0, last: 0, later, occupied, digits: 0, len: 0 }
    }

    /// Adds an event; a time before the last event popped counts as that event's time.
    #[inline]
    pub fn push(&mut self, at: u64, event: E) {
        self.len += 1;
        if at <= self.last {
            self.due.push(event);
        } else {
            self.file(at, event);
        }
    }

    /// Takes the earliest event; of several at one time, the one that was added first.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.pop_showing(|_| {})
    }

    /// Like [`pop`](Self::pop), and shows `soon` the events of the near future, some at a time and
    /// each before it comes: what they need can then be fetched from memory all at once.
    #[inline]
    pub(crate) fn pop_showing(&mut self, soon: impl FnMut(E)) -> Option<(u64, E)> {
        if self.head == self.due.len() && !self.advance(soon) {
            return None;
        }
        let event = self.due[self.head];
        self.head += 1;
        self.len -= 1;
        Some((self.last, event))
    }

    /// Takes the next event if it is of the same time as the last.
    #[inline]
    pub fn pop_same(&mut self) -> Option<E> {
        let event = *self.due.get(self.head)?;
        self.head += 1;
        self.len -= 1;
        Some(event)
    }

    /// How many events wait.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn file(&mut self, at: u64, event: E) {
        let digit = (63 - (at ^ self.last).leading_zeros()) as usize / 4;
        let value = (at >> (4 * digit)) as usize % VALUES;
        self.later[VALUES * digit + value].push((at, event));
        self.occupied[digit] |= 1 << value;
        self.digits |= 1 << digit;
    }

    /// Moves time on to the next event; false when there is none.
    fn advance(&mut self, mut soon: impl FnMut(E)) -> bool {
        self.due.clear();
        self.head = 0;
        if self.digits == 0 {
            return false;
        }
        let digit = self.digits.trailing_zeros() as usize;
        let value = self.occupied[digit].trailing_zeros() as usize;
        self.occupied[digit] &= self.occupied[digit] - 1;
        if self.occupied[digit] == 0 {
            self.digits &= self.digits - 1;
        }
        let mut waiting = mem::take(&mut self.later[VALUES * digit + value]);
        if SHOWN.contains(&waiting.len()) {
            waiting.iter().for_each(|(_, event)| soon(*event));
        }
        self.last = waiting.iter().map(|(at, _)| *at).min().unwrap_or(self.last);
        for (at, event) in waiting.drain(..) {
            if at == self.last {
                self.due.push(event);
            } else {
                self.file(at, event);
            }
        }
        // Its room is used again: nothing was filed here meanwhile, only below.
        self.later[VALUES * digit + value] = waiting;
        true
    }
}

impl<E: Copy> Default for Agenda<E> {
    fn default() -> Self {
        Self::new()
    }
}

const DIGITS: usize = 16;
const VALUES: usize = 16;
/// So many are worth showing: fewer are no crowd, and what more need does not fit into the cache.
const SHOWN: core::ops::RangeInclusive<usize> = 4..=64;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Agenda;
    use crate::Chance;

    #[test]
    fn what_is_shown_has_not_come_yet_and_most_is_shown() {
        let mut chance = Chance::seeded(5);
        let mut agenda = Agenda::new();
        (0..10_000_u32).for_each(|event| agenda.push(chance.below(1_000_000).into(), event));
        let mut plain = agenda.clone();
        let (mut come, mut shown) = (HashSet::new(), HashSet::new());
        while let Some((at, event)) = agenda.pop_showing(|soon| {
            assert!(!come.contains(&soon), "{soon} has come already");
            shown.insert(soon);
        }) {
            assert_eq!(plain.pop(), Some((at, event)));
            come.insert(event);
        }
        assert_eq!(come.len(), 10_000);
        assert!(shown.len() > 9_000, "only {} were shown", shown.len());
    }
}
