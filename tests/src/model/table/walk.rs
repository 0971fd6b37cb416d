//! This file knows random walks through a table that no complete search could afford.

use evenkeel_core::Verdict;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Move, TICK};

/// A walk of up to 60 moves through a table of four, and where its clock starts.
pub fn any_walk() -> impl Strategy<Value = (u64, Vec<Move>)> {
    (any_start(), vec(any_move(), 0..60))
}

/// At the clock's start, around the wrapping of a table's units, and in 2026 as Unix counts.
pub(crate) fn any_start() -> impl Strategy<Value = u64> {
    select(vec![0, (1 << 47) - TICK, (1 << 48) - TICK, 1_780_000_000_000_000])
}

pub(crate) fn any_move() -> impl Strategy<Value = Move> {
    let spans = || select(vec![0, 1, TICK - 1, TICK, 2 * TICK, 5 * TICK]);
    let verdict = select(vec![Verdict::Failure, Verdict::Success, Verdict::Ignored]);
    prop_oneof![
        6 => (0..8u8, proptest::option::of(spans())).prop_map(|(key, span)| Move::Admit(key, span)),
        6 => (0..8usize, verdict).prop_map(|(which, verdict)| Move::Record(which, verdict)),
        2 => spans().prop_map(Move::Pass),
        1 => (0..8usize).prop_map(Move::Lose),
    ]
}
