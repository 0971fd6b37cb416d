//! Other libraries beside the house: the same work, in one run, counted and timed alike.
//!
//! Time is read inside every step that needs it, for every contestant. What a contestant leaves out
//! (permits, epochs, a bound on the keys) is not subtracted; it is named in its line.

use std::process::ExitCode;

use case::Group;

mod delays;
mod keyed;
mod layers;
mod plain;
mod report;
mod room;
mod shared;
mod targets;
mod threads;

#[path = "../../cost/allocations.rs"]
mod allocations;
#[path = "../../cost/case.rs"]
mod case;
#[path = "../../cost/instructions.rs"]
mod instructions;

fn main() -> ExitCode {
    let groups: Vec<Group> = [
        plain::groups(),
        shared::groups(),
        threads::groups(),
        keyed::groups(),
        targets::groups(),
        delays::groups(),
        layers::groups(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match instructions::Order::from_arguments(&arguments) {
        // This process is the one being counted: it must do nothing else.
        Some(order) => order.carry_out(&groups),
        None => {
            report::print(&groups);
            room::print();
            ExitCode::SUCCESS
        }
    }
}
