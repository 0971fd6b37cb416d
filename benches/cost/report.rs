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
    let mut base: Option<Row> = None;
    for (number, (case, time)) in group.cases.iter().zip(times(group)).enumerate() {
        let allocations = Allocations::of(case);
        let instructions = countable.then(|| instructions::of(index, number)).flatten();
        let row = Row { allocations, instructions, time };
        let base = base.get_or_insert(row);
        println!(
            "  {:<32} {:>7.2} {:>+7.2} {:>7.0} {:>8} {:>8} {:>7.2}",
            case.name,
            allocations.count,
            allocations.count - base.allocations.count,
            allocations.bytes,
            instructions.map_or_else(|| "-".into(), |count| format!("{count:.0}")),
            row.added_instructions(base).map_or_else(|| "-".into(), |added| format!("{added:+.0}")),
            time / base.time,
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

/// How long each case takes: the shortest of several rounds, because whatever disturbs one only
/// makes it longer, and all cases in each round, because disturbances last.
fn times(group: &Group) -> Vec<f64> {
    let mut times = 1_000;
    while group.cases.first().is_some_and(|case| time(case, times) < LEAST) {
        times *= 2;
    }
    let mut shortest = vec![Micros::MAX; group.cases.len()];
    for _ in 0..ROUNDS {
        for (case, shortest) in group.cases.iter().zip(&mut shortest) {
            *shortest = shortest.shorter(time(case, times));
        }
    }
    shortest.into_iter().map(|time| time.as_micros() as f64).collect()
}

pub(crate) fn time(case: &Case, times: u64) -> Micros {
    let begun = StdClock.now();
    case.run(times);
    StdClock.now().since(begun)
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

const ROUNDS: u32 = 15;
/// A thousand ticks of the clock.
const LEAST: Micros = Micros::from_millis(1);
