//! This file knows the full chain beside that of grpc-client-kit, neither with a wire.

use std::process::Command;

use crate::calls;
use crate::case::Case;
use crate::report::{median, time};

/// Prints how often ours goes into theirs, which `command` prints in nanoseconds: the median of
/// rounds in which one comes after the other. Of ours raw tonic is taken off, which calls through the
/// same stub.
pub(crate) fn print(command: &[&str]) {
    let group = calls::with_timeout();
    let case = |name| group.cases.iter().find(|case| case.name == name).expect("it has one");
    let (raw, full) = (case("raw tonic, set_timeout"), case("full chain"));
    let rounds: Vec<[f64; 2]> = (0..ROUNDS).map(|_| [theirs(command), added(raw, full)]).collect();
    let medians = [0, 1].map(|side| median(rounds.iter().map(|round| round[side]).collect()));
    let ratio = median(rounds.iter().map(|[theirs, ours]| theirs / ours).collect());
    let [theirs, ours] = medians;
    println!("grpc-client-kit {theirs:.0} ns, evenkeel {ours:.0} ns: {ratio:.0} times");
}

fn theirs(command: &[&str]) -> f64 {
    let (program, arguments) = command.split_first().expect("a program");
    let output = Command::new(program).args(arguments).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Nanoseconds that one call takes more in `full` than in `raw`, each at the best of some times,
/// because whatever disturbs one only makes it longer.
fn added(raw: &Case, full: &Case) -> f64 {
    let mut shortest = [f64::INFINITY; 2];
    for _ in 0..TIMES {
        for (case, shortest) in [raw, full].into_iter().zip(&mut shortest) {
            *shortest = shortest.min(time(case, CALLS).as_micros() as f64);
        }
    }
    (shortest[1] - shortest[0]) * 1_000.0 / CALLS as f64
}

const ROUNDS: u32 = 9;
const TIMES: u32 = 9;
const CALLS: u64 = 4_000;
