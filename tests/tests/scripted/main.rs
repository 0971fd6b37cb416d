//! Every scenario that is written as data, on every runtime of this workspace that can be told of
//! it; embassy's are run by a test of its own adapter.
//!
//! A scenario on a runtime is a test: `cargo test -p evenkeel-tests --test scripted R25` runs one
//! on all of them, and `--test scripted tonic` all of them on one.

mod core_runner;
mod sim_runner;
mod std_runner;
mod tokio_runner;
mod tonic_runner;

mod targets;
mod tonic_peer;

mod documented;

use evenkeel_scripted::{Runtime, Scenario, Seen};
use libtest_mimic::{Arguments, Failed, Trial};

type Runner = fn(&'static Scenario) -> Seen;

fn main() {
    let runners: [(Runtime, Runner); 5] = [
        (Runtime::CORE, core_runner::run),
        (Runtime::STD, std_runner::run),
        (Runtime::TOKIO, tokio_runner::run),
        (Runtime::TONIC, tonic_runner::run),
        (Runtime::SIM, sim_runner::run),
    ];
    let mut trials = documented::trials();
    for (runtime, run) in runners {
        trials.extend(runtime.scenarios().map(|scenario| {
            let name = format!("{} {}", runtime.name, scenario.name());
            Trial::test(name, move || scenario.check(&run(scenario)).map_err(Failed::from))
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
