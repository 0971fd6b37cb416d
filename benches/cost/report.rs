//! This file knows what the table looks like.

use evenkeel_std::StdClock;
use evenkeel_std::core::{Clock, Micros};

use crate::allocations::Allocations;
use crate::case::{Case, Group};
use crate::instructions;

pub(crate) fn print(groups: &[Group]) {
    let countable = instructions::are_countable();
    if !countable {
        println!("skipped: instructions (valgrind not installed)");
    }
    println!("each group is compared with its first line; time is a ratio to it\n");
    for (index, group) in groups.iter().enumerate() {
        let (title, columns) = (group.title, ["allocs", "bytes", "instrs", "time"]);
        let [allocs, bytes, instrs, time] = columns;
        println!(
            "{title:<34} {allocs:>7} {:>7} {bytes:>7} {instrs:>8} {:>8} {time:>7}",
            "added", "added"
        );
        print_rows(index, group, countable);
        println!();
    }
}

fn print_rows(index: usize, group: &Group, countable: bool) {
    let mut first: Option<Row> = None;
    for (number, case) in group.cases.iter().enumerate() {
        let row = Row {
            allocations: Allocations::of(case),
            instructions: countable.then(|| instructions::of(index, number)).flatten(),
            time: fastest(case),
        };
        let base = first.get_or_insert(row);
        let Allocations { count, bytes } = row.allocations;
        println!(
            "  {:<32} {count:>7.2} {:>7} {bytes:>7.0} {:>8} {:>8} {:>7.2}",
            case.name,
            format!("{:+.2}", count - base.allocations.count),
            row.instructions.map_or_else(|| "-".into(), |count| format!("{count:.0}")),
            row.added_instructions(base).map_or_else(|| "-".into(), |added| format!("{added:+.0}")),
            row.time / base.time,
        );
    }
}

#[derive(Clone, Copy)]
struct Row {
    allocations: Allocations,
    instructions: Option<f64>,
    time: f64,
}

impl Row {
    fn added_instructions(&self, base: &Self) -> Option<f64> {
        Some(self.instructions? - base.instructions?)
    }
}

/// The shortest of a few rounds: whatever disturbs one only makes it longer.
fn fastest(case: &Case) -> f64 {
    let round = || {
        let begun = StdClock.now();
        case.run(TIMED);
        StdClock.now().since(begun)
    };
    let shortest = (0..ROUNDS).map(|_| round()).min().unwrap_or(Micros::ZERO);
    shortest.as_micros().max(1) as f64
}

const ROUNDS: u32 = 9;
const TIMED: u64 = 20_000;
