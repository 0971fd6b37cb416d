//! Tables too large to ask everything again for every newcomer, and the largest small one.

use evenkeel_std::core::{Deadline, Instant, Verdict};
use evenkeel_std::{Handle, SharedTable};

use crate::{PATIENT, POLICY, at, attempt};

const NOW: Instant = Instant::ZERO;

type Table = SharedTable<u64>;

fn held(table: &Table, now: Instant, key: u64) -> Handle {
    table.lookup_with(now, &key, || key).handle.unwrap()
}

fn is_there(table: &Table, key: u64) -> bool {
    table.get(&key).is_some()
}

/// A thousand keys, all used at one instant, in another order than they came; some count
/// something, some are held, and one is let go on the way.
#[test]
fn a_thousand_keys_of_one_instant_go_in_the_order_of_their_use() {
    let table = Table::new(1_000).unwrap();
    (0..1_000).for_each(|key| drop(held(&table, NOW, key)));
    let used: Vec<u64> = (0..1_000).map(|time| time * 387 % 1_000).collect();
    used.iter().for_each(|key| drop(held(&table, NOW, *key)));
    let mut in_use: Vec<Handle> = [used[0], used[2]].map(|key| table.get(&key).unwrap()).into();
    attempt(&table.get(&used[1]).unwrap(), NOW, Verdict::Failure, &PATIENT);

    let mut newcomers = 1_000..;
    let mut next = || drop(held(&table, NOW, newcomers.next().unwrap()));
    for key in &used[3..500] {
        next();
        assert!(!is_there(&table, *key));
        assert_eq!(table.len(), 1_000);
    }
    in_use.remove(0);
    next();
    assert!(!is_there(&table, used[0]), "the oldest of all, now that nobody holds it");
    attempt(&table.get(&used[1]).unwrap(), NOW, Verdict::Success, &PATIENT);
    next();
    assert!(!is_there(&table, used[1]), "nothing counted any more");
    next();
    assert!(!is_there(&table, used[500]) && is_there(&table, used[501]));
}

/// Newcomers cost the same however many circuits are open, and take the room as it comes.
#[test]
fn a_flood_against_a_large_one_that_protects() {
    let table = Table::new(2_000).unwrap();
    for key in 0..8_000 {
        attempt(&held(&table, NOW, key), NOW, Verdict::Failure, &POLICY);
    }
    for key in 10_000..60_000 {
        assert!(table.lookup_with(NOW, &key, || key).handle.is_none());
    }
    assert_eq!((table.len(), table.untracked()), (8_000, 50_000));

    for key in 0..8_000 {
        let breaker = table.get(&key).unwrap();
        attempt(&breaker, at(10), Verdict::Success, &POLICY);
    }
    (60_000..68_001).for_each(|key| drop(table.lookup_with(at(10), &key, || key)));
    assert_eq!(table.len(), 2_000, "after as many newcomers as were passed over");
}

#[test]
fn a_flood_does_not_wash_away_what_is_counted() {
    let table = Table::new(7_000).unwrap();
    // A microsecond apart: of one instant the parts of a large one know no common order.
    for key in 0..7_000 {
        let now = Instant::from_micros(key);
        attempt(&held(&table, now, key), now, Verdict::Failure, &PATIENT);
    }
    (10_000..50_000).for_each(|key| drop(held(&table, at(1), key)));
    assert!(!is_there(&table, 0), "the first newcomer found nobody else");
    assert!((1..7_000).all(|key| is_there(&table, key)));
    assert!(is_there(&table, 49_999));
}

/// The parts are gone through one after the other, none of them by chance alone.
#[test]
fn every_part_of_it_is_swept() {
    let table = Table::new(100_000).unwrap();
    (0..50_000).for_each(|key| drop(held(&table, NOW, key)));
    let alive = held(&table, NOW, 0);
    (0..100).for_each(|_| drop(held(&table, at(3_600), 1_000_000)));
    assert_eq!(table.len(), 2);
    assert!(core::ptr::eq(&*alive, &*table.get(&0).unwrap()));
}

/// Nobody's hash is that bad; but neither the bound nor the newest may depend on it.
#[test]
fn keys_that_all_have_one_hash() {
    #[derive(Clone, Eq, PartialEq)]
    struct Same(u32);
    impl core::hash::Hash for Same {
        fn hash<H: core::hash::Hasher>(&self, _state: &mut H) {}
    }
    let table: SharedTable<Same> = SharedTable::new(8).unwrap();
    for round in 0..2_000 {
        for key in [round, round / 2, round % 7].map(Same) {
            let found = table.lookup_with(NOW, &key, || key.clone()).handle.unwrap();
            assert!(table.get(&key).is_some_and(|again| core::ptr::eq(&*again, &*found)));
            assert!(table.len() <= 8);
        }
    }
    assert_eq!(table.untracked(), 0);
}

/// At the ends of time: nothing is idle that has just been used, and everything goes in order.
#[test]
fn at_the_end_of_time_there_is_still_an_order() {
    let table = Table::new(3).unwrap();
    (0..3).for_each(|key| drop(held(&table, Instant::MAX, key)));
    drop(held(&table, NOW, 0));
    drop(held(&table, Instant::MAX, 3));
    assert!(is_there(&table, 0) && !is_there(&table, 1));
    assert!(held(&table, Instant::MAX, 2).admit(NOW, Deadline::NONE, &POLICY).is_ok());
}

/// It means "without bound"; it need not be paid for.
#[test]
fn room_for_everything_costs_nothing() {
    let table = Table::new(usize::MAX).unwrap();
    (0..100).for_each(|key| drop(held(&table, NOW, key)));
    assert_eq!((table.len(), table.max()), (100, usize::MAX));
}

/// Ten million keys nobody asks for twice, against a million that are there.
#[test]
#[ignore = "minutes, even if optimised: `tests/deep flood` runs it"]
fn ten_million_fresh_keys() {
    let table = Table::new(1_000_000).unwrap();
    for key in 0..1_000_000 {
        let breaker = held(&table, NOW, key);
        if key % 10 == 0 {
            attempt(&breaker, NOW, Verdict::Failure, &POLICY);
        }
    }
    for key in 1_000_000..11_000_000_u64 {
        drop(held(&table, NOW, key));
        assert!(key % 100_000 != 0 || table.len() <= 1_000_000);
    }
    assert!((0..1_000_000).step_by(10).all(|key| is_there(&table, key)));
    assert_eq!((table.len(), table.untracked()), (1_000_000, 0));
}
