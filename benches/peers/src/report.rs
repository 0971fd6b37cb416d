//! This file knows what the table of contestants looks like.

use evenkeel_core::{Clock, Micros};
use evenkeel_std::StdClock;

use crate::allocations::Allocations;
use crate::case::{Case, Group};
use crate::instructions;

pub(crate) fn print(groups: &[Group]) {
    let countable = instructions::are_countable();
    if !countable {
        println!("skipped: instructions (valgrind not installed)");
    }
    println!("the last column is the time as a ratio to the best of the others\n");
    for (index, group) in groups.iter().enumerate() {
        println!(
            "{:<36} {:>7} {:>7} {:>7} {:>8} {:>7}",
            group.title, "allocs", "bytes", "instrs", "ns", "ratio"
        );
        let times = times(group);
        let ours = |case: &Case| case.name.starts_with("evenkeel");
        let others = group.cases.iter().zip(&times).filter(|(case, _)| !ours(case));
        let best = others.map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
        for (number, (case, time)) in group.cases.iter().zip(&times).enumerate() {
            let counted = countable && !group.title.contains("00,000");
            let instrs = counted.then(|| instructions::of(index, number)).flatten();
            // Less than nothing: its start alone differs by more, as of one that measures its clock.
            let instrs = instrs.filter(|count| *count > 0.0);
            let allocations = Allocations::of(case);
            println!(
                "  {:<34} {:>7.2} {:>7.0} {:>7} {time:>8.1} {:>7.2}",
                case.name,
                allocations.count,
                allocations.bytes,
                instrs.map_or_else(|| "-".into(), |count| format!("{count:.0}")),
                time / best,
            );
        }
        println!();
    }
}

/// How long each case takes, in ns: the median of several rounds, with all cases in each round,
/// because disturbances last.
fn times(group: &Group) -> Vec<f64> {
    let mut times = 100_000;
    while group.cases.iter().any(|case| time(case, times) < LEAST) {
        times *= 2;
    }
    let mut rounds = vec![Vec::new(); group.cases.len()];
    for _ in 0..ROUNDS {
        for (case, rounds) in group.cases.iter().zip(&mut rounds) {
            rounds.push(time(case, times));
        }
    }
    let median = |mut rounds: Vec<Micros>| {
        rounds.sort();
        rounds[ROUNDS / 2].as_micros() as f64 * 1_000.0 / times as f64
    };
    rounds.into_iter().map(median).collect()
}

fn time(case: &Case, times: u64) -> Micros {
    let begun = StdClock.now();
    case.run(times);
    StdClock.now().since(begun)
}

const ROUNDS: usize = 9;
/// Ten thousand ticks of the clock.
const LEAST: Micros = Micros::from_millis(10);
