//! This file knows the full chain beside that of grpc-client-kit, neither with a wire.

use crate::calls;
use crate::report::time;

/// Prints how often ours goes into `theirs`: nanoseconds of one call through its chain alone. Of
/// ours raw tonic is taken off, which calls through the same stub.
pub(crate) fn print(theirs: f64) {
    let group = calls::with_timeout();
    let case = |name| group.cases.iter().find(|case| case.name == name).expect("it has one");
    let (raw, full) = (case("raw tonic, set_timeout"), case("full chain"));
    let mut shortest = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (case, shortest) in [raw, full].into_iter().zip(&mut shortest) {
            *shortest = shortest.min(time(case, CALLS).as_micros() as f64);
        }
    }
    let ours = (shortest[1] - shortest[0]) * 1_000.0 / CALLS as f64;
    println!("grpc-client-kit {theirs:.0} ns, evenkeel {ours:.0} ns: {:.0} times", theirs / ours);
}

const ROUNDS: u32 = 15;
const CALLS: u64 = 4_000;
