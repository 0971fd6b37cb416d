//! Many threads at one table: the bounds hold, and what one of them holds stays.

use std::sync::Barrier;

use evenkeel_std::core::{Clock, Deadline, Verdict};
use evenkeel_std::{Handle, SharedTable, StdClock};

use crate::PATIENT;

type Table = SharedTable<u64>;

fn held(table: &Table, key: u64) -> Handle {
    table.lookup_with(StdClock.now(), &key, || key).handle.unwrap()
}

/// Runs `body` on eight threads, all let go together, each with numbers of its own.
fn together(body: impl Fn(&mut dyn FnMut() -> u64) + Sync) {
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 1..=8_u64 {
            let (barrier, body) = (&barrier, &body);
            scope.spawn(move || {
                let mut state = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                barrier.wait();
                body(&mut || {
                    // xorshift: any numbers will do, as long as they differ.
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state >> 16
                });
            });
        }
    });
}

/// Each holds two at a time, of three times as many keys as there is room for.
#[test]
fn what_a_thread_holds_stays_and_no_other_is_made() {
    let table = Table::new(64).unwrap();
    together(|random| {
        let mut before = (0, held(&table, 0));
        for _ in 0..20_000 {
            let key = random() % 192;
            let mine = (key, held(&table, key));
            for (key, handle) in [&before, &mine] {
                assert!(core::ptr::eq(&**handle, &*table.get(key).unwrap()), "{key} is held");
            }
            assert!(table.len() <= 64);
            before = mine;
        }
    });
    assert_eq!(table.untracked(), 0);
}

/// Every failure reaches the one breaker of its key, which nobody else evicts on the way.
#[test]
fn nothing_counted_goes_astray() {
    let table = Table::new(4).unwrap();
    let never = evenkeel_std::core::Consecutive::new(u16::MAX).unwrap();
    let never = PATIENT.with_trip(never);
    let kept = held(&table, 1_000_000);
    together(|random| {
        for _ in 0..2_000 {
            let breaker = held(&table, 1_000_000);
            drop(held(&table, random() % 100));
            let permit = breaker.admit(StdClock.now(), Deadline::NONE, &never).unwrap();
            breaker.record(StdClock.now(), permit, Verdict::Failure, &never);
        }
    });
    assert_eq!(kept.snapshot().failures, 16_000);
}

/// A table of several parts, hit, filled and swept at once.
#[test]
fn a_large_one_keeps_its_bounds_too() {
    let table = Table::new(7_000).unwrap().with_idle_ttl(SOON).unwrap();
    together(|random| {
        for round in 0..20_000 {
            drop(held(&table, random() % 10_000));
            assert!(round % 100 != 0 || table.len() <= 7_000);
        }
    });
    assert!(table.snapshots().len() <= 7_000);
    assert_eq!((table.snapshots().len(), table.untracked()), (table.len(), 0));
}

/// So short that entries grow idle between any two lookups.
const SOON: core::time::Duration = core::time::Duration::from_micros(300);
