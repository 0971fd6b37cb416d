//! This file knows what arrived: how often each request was tried, and which items of telemetry.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many items the firmware measures.
const ITEMS: u32 = 24;

/// What the server has seen.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    attempts: BTreeMap<u32, u32>,
    /// How often each item was acknowledged, in the order they came in.
    items: Vec<u32>,
    /// What this side could not do.
    failures: Vec<String>,
    /// How many requests for items are still to be hung up on.
    deaf: u32,
}

impl Ledger {
    /// Counts an attempt at request `number`, and answers which it is.
    pub(crate) fn attempt(&self, number: u32) -> u32 {
        let mut seen = self.seen();
        let attempts = seen.attempts.entry(number).or_insert(0);
        *attempts += 1;
        *attempts
    }

    /// From now on so many requests for items are hung up on.
    pub(crate) fn go_deaf(&self, requests: u32) {
        self.seen().deaf = requests;
    }

    /// Whether this request for an item is hung up on.
    pub(crate) fn is_deaf(&self) -> bool {
        let mut seen = self.seen();
        let deaf = seen.deaf > 0;
        seen.deaf = seen.deaf.saturating_sub(1);
        deaf
    }

    /// An item was acknowledged.
    pub(crate) fn acknowledged(&self, item: u32) {
        self.seen().items.push(item);
    }

    /// Something on this side did not work, so the firmware was not put to the test.
    pub(crate) fn failed(&self, what: String) {
        self.seen().failures.push(what);
    }

    /// What did not work, and what is wrong with the telemetry: lost, sent again after it was acknowledged, out of order.
    pub(crate) fn faults(&self) -> Vec<String> {
        let seen = self.seen();
        let mut faults = seen.failures.clone();
        for item in 0..ITEMS {
            match seen.items.iter().filter(|there| **there == item).count() {
                0 => faults.push(format!("item {item} is lost")),
                1 => {}
                times => faults.push(format!("item {item} was acknowledged {times} times")),
            }
        }
        if !seen.items.is_sorted() {
            faults.push(format!("items came out of order: {:?}", seen.items));
        }
        faults
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
