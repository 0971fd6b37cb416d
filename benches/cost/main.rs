//! What the house adds to a call, counted: allocations, their bytes, and instructions. Time is only
//! printed as a ratio, because it says more about the machine than about the code.
//!
//! A case runs any number of times. Everything is counted at two numbers of times and the
//! difference taken, so that what happens once cancels out.

use std::process::ExitCode;

use crate::case::Group;

mod allocations;
mod calls;
mod case;
mod instructions;
mod machines;
mod report;
mod stub;

#[path = "../../tests/src/pb.rs"]
mod pb;

fn main() -> ExitCode {
    let groups: Vec<Group> = calls::groups().into_iter().chain([machines::group()]).collect();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match instructions::Order::from_arguments(&arguments) {
        // This process is the one being counted: it must do nothing else.
        Some(order) => order.carry_out(&groups),
        None => {
            report::print(&groups);
            ExitCode::SUCCESS
        }
    }
}
