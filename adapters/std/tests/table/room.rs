//! How many breakers there are: at most n in quiet times, never more than 4n, and one for each key.

use std::sync::{Barrier, Mutex};

use evenkeel_std::SharedTable;
use evenkeel_std::core::{BreakerState, Instant};

use crate::{Table, at, close, held, look_up, open, table};

const NOW: Instant = Instant::ZERO;

fn name(number: usize) -> String {
    format!("/pkg.Service/Method{number}")
}

/// n while something may go, 4n while everything protects, and n again once it no longer does.
#[test]
fn never_more_than_n() {
    let table = table(4);
    for number in 0..16 {
        look_up(&table, NOW, [name(100 + number).as_str()]);
        assert!(table.len() <= 4.max(number + 1));
        open(&table, NOW, &name(number));
        assert!(table.len() <= 4.max(number + 1));
    }
    assert_eq!((table.len(), table.untracked()), (16, 0));

    for turned_away in 1..=5 {
        assert!(table.lookup(NOW, "newcomer").handle.is_none());
        assert_eq!((table.len(), table.untracked()), (16, turned_away));
    }
    assert!(held(&table, NOW, &name(7)).snapshot().retry_at.is_some(), "those inside are found");

    (0..16).for_each(|number| close(&table, &name(number)));
    assert_eq!(table.len(), 16, "only an insert shrinks it");
    look_up(&table, at(10), ["newcomer"]);
    assert_eq!((table.len(), table.untracked()), (4, 5));
}

/// One at a time, each time one of those above n stops protecting.
#[test]
fn it_shrinks_back() {
    let table = table(2);
    for key in ["a", "b", "c", "d", "e"] {
        open(&table, NOW, key);
    }
    for (closed, newcomer, left) in [("c", "f", 5), ("a", "g", 5), ("e", "h", 5)] {
        close(&table, closed);
        open(&table, NOW, newcomer);
        assert_eq!(table.len(), left, "{newcomer} took the place of {closed}");
    }
    for key in ["b", "d", "f"] {
        close(&table, key);
    }
    open(&table, NOW, "i");
    assert_eq!(table.len(), 3, "g, h and i protect: nothing else is kept above n");
    ["g", "h", "i"].into_iter().for_each(|key| close(&table, key));
    look_up(&table, NOW, ["j"]);
    assert_eq!(table.len(), 2);
}

/// C38, and that one episode is told once.
#[test]
fn one_notice_for_each_episode() {
    let table = table(2);
    let overflowed = |key: &str| table.lookup(NOW, key).overflowed;
    open(&table, NOW, "a");
    open(&table, NOW, "b");
    assert!(overflowed("c"), "the third breaker where there should be two");
    assert_eq!(table.len(), 3);
    for key in ["a", "b"] {
        assert_eq!(table.get(key).unwrap().snapshot().state, BreakerState::Open);
    }
    open(&table, NOW, "c");
    assert!((0..20).all(|number| !overflowed(&name(number))), "told already");

    close(&table, "a");
    close(&table, "b");
    assert!(!overflowed("d"), "there is room again: the episode is over");
    open(&table, NOW, "d");
    assert!(overflowed("e"), "a new one");
}

#[test]
fn same_key_same_breaker() {
    for round in 0..50 {
        let table = table(1_000);
        look_up(&table, NOW, (0..round).map(name).collect::<Vec<_>>().iter().map(String::as_str));
        let (barrier, found) = (Barrier::new(8), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    let breaker = held(&table, NOW, "new");
                    found.lock().unwrap().push(breaker);
                });
            }
        });
        let found = found.into_inner().unwrap();
        assert!(found.iter().all(|breaker| core::ptr::eq(&**breaker, &*found[0])));
        assert_eq!((found.len(), table.len()), (8, round + 1));
    }
}

/// F95, F96: a million keys nobody asks for twice.
#[test]
fn fresh_keys_do_not_fill_it() {
    let table: SharedTable<Key> = SharedTable::new(500).unwrap();
    for key in 0..1_000_000_u32 {
        drop(table.lookup(NOW, &Key(key)));
        assert!(table.len() <= 500);
    }
    assert_eq!((table.len(), table.untracked()), (500, 0));
}

/// G77's half of the table: of 1001 methods a clean one is forgotten, never an open one.
#[test]
fn a_thousand_and_one_methods() {
    let table = table(1_000);
    (0..1_000).for_each(|number| drop(held(&table, NOW, &name(number))));
    (0..999).step_by(3).for_each(|number| open(&table, NOW, &name(number)));
    let is_there = |number: usize| table.get(name(number).as_str()).is_some();
    drop(held(&table, NOW, &name(1_000)));
    assert_eq!(table.len(), 1_000);
    assert!(!is_there(1), "the least recently used clean one");
    assert!((0..=1_000).filter(|number| *number != 1).all(is_there));
}

#[test]
fn a_table_for_nothing_is_refused() {
    assert_eq!(Table::new(0).unwrap_err().field(), "breaker.max_methods");
    assert!(table(1).is_empty());
}

/// A key without an allocation of its own.
#[derive(Eq, Hash, PartialEq)]
struct Key(u32);

impl From<&Self> for Key {
    fn from(key: &Self) -> Self {
        Self(key.0)
    }
}
