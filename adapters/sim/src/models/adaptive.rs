//! This file knows client-side adaptive throttling as in *Site Reliability Engineering*, ch. 21.
//!
//! An attempt is dropped locally with probability `max(0, (requests − K × accepts) / (requests +
//! 1))` over a window, where `requests` counts the dropped ones too. The book's window of two
//! minutes remembers a total outage long after it is over.

use super::Ring;
use crate::Chance;

/// Adaptive throttling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    /// How many requests are sent for each accepted one before any is dropped; the book's K = 2.
    pub k: f64,
    /// Over how long both are counted, in microseconds; the book's 2 min.
    pub window: u64,
    /// The highest share that is dropped; 1 in the book, 0.75 in Finagle. Below 1 it always asks
    /// now and then whether the server is back.
    pub ceiling: f64,
}

/// What one client remembers for [`Adaptive`].
#[derive(Clone, Debug)]
pub struct AdaptiveMemory {
    requests: Ring<SLICES>,
    accepts: Ring<SLICES>,
}

impl AdaptiveMemory {
    /// Nothing yet.
    pub const EMPTY: Self = Self { requests: Ring::EMPTY, accepts: Ring::EMPTY };

    /// Whether an attempt may go out at `now`; counts it either way.
    pub fn admit(&mut self, now: u64, rule: &Adaptive, chance: &mut Chance) -> bool {
        let slice = rule.slice();
        let requests = self.requests.sum(now, slice) as f64;
        let accepts = self.accepts.sum(now, slice) as f64;
        let drop = (requests - rule.k * accepts) / (requests + 1.0);
        self.requests.add(now, slice, 1);
        drop <= 0.0 || !chance.happens(drop.min(rule.ceiling))
    }

    /// Books a success.
    pub fn accepted(&mut self, now: u64, rule: &Adaptive) {
        self.accepts.add(now, rule.slice(), 1);
    }
}

impl Adaptive {
    const fn slice(&self) -> u64 {
        self.window / SLICES as u64
    }
}

const SLICES: usize = 40;
