//! This file knows the table of breakers, under every rule and for keys of two widths.

use core::hint::black_box;

use evenkeel_core::{BreakerPolicy, BreakerTable, Consecutive, LastN, TimeWindow};
use evenkeel_probe::{Any, Rule, any, blur};

use crate::breaker::Either;

pub(crate) fn reach() {
    table::<u8, 1, Consecutive>();
    table::<u16, 8, Consecutive>();
    table::<u64, 4, LastN>();
    table::<u16, 4, TimeWindow>();
    table::<u16, 2, Either>();
}

fn table<K: Copy + Eq + Any, const N: usize, T: Rule>() {
    let policy: BreakerPolicy<T> = any();
    let mut table = if any() { BreakerTable::<K, N, T>::new() } else { BreakerTable::default() };
    blur(&mut table);
    if let Ok(mut permit) = BreakerTable::admit(&mut table, any(), any(), any(), &policy) {
        blur(&mut permit);
        blur(&mut table);
        BreakerTable::renew(&mut table, any(), any(), &permit, &policy);
        blur(&mut table);
        let _ = BreakerTable::record(&mut table, any(), any(), permit, any(), &policy);
    }
    blur(&mut table);
    black_box(BreakerTable::get_mut(&mut table, any()));
    black_box(BreakerTable::get(&table, any()));
    for (_, snapshot) in BreakerTable::snapshots(&table) {
        black_box(snapshot);
    }
    let _ = BreakerTable::len(&table);
    let _ = BreakerTable::is_empty(&table);
    let _ = BreakerTable::untracked(&table);
    let mut copy = table.clone();
    blur(&mut copy);
    black_box(table == copy);
}
