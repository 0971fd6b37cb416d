//! What the house adds to a call, counted: allocations, their bytes, and instructions. Time is only
//! printed as a ratio, because it says more about the machine than about the code.
//!
//! A case runs any number of times. Everything is counted at two numbers of times and the
//! difference taken, so that what happens once cancels out.
//!
//! Without a word it prints that table. `growth` and `wire` print what only time can tell, `kit
//! PROGRAM` compares with a chain whose nanoseconds a program prints, and `limits` fails where a case
//! takes more instructions than it may.

use std::process::ExitCode;

use crate::case::Group;
use crate::limits::Limit;

mod allocations;
mod calls;
mod case;
mod growth;
mod instructions;
mod kit;
mod limits;
mod report;
mod stub;
mod wire;

#[path = "../steps/src/machines.rs"]
mod machines;
#[path = "../../tests/src/pb.rs"]
mod pb;

fn main() -> ExitCode {
    let groups: Vec<Group> = calls::groups().into_iter().chain([machines::group()]).collect();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // This process is the one being counted: it must do nothing else.
    if let Some(order) = instructions::Order::from_arguments(&arguments) {
        return order.carry_out(&groups);
    }
    let mut words = arguments.iter().map(String::as_str);
    match words.next() {
        Some("growth") => growth::print(),
        Some("kit") => kit::print(&words.collect::<Vec<_>>()),
        Some("limits") => return limits::check(&groups, &LIMITS),
        Some("wire") => wire::print(),
        // Cargo says so itself that this is a benchmark.
        Some(_) | None => report::print(&groups),
    }
    ExitCode::SUCCESS
}

/// What the house adds, as it was counted by `tests/run costs`, which optimises the code of others
/// less: as it is shipped all are smaller.
const LIMITS: [Limit; 6] = [
    Limit {
        title: "a unary call",
        name: "nothing configured",
        beside: Some("raw tonic"),
        most: 1_430,
    },
    Limit {
        title: "a unary call with a deadline",
        name: "full chain",
        beside: Some("raw tonic, set_timeout"),
        most: 4_840,
    },
    Limit {
        title: "a unary call with a deadline",
        name: "full chain, three members",
        beside: Some("full chain"),
        most: 690,
    },
    Limit {
        title: "the same, its answer waited for",
        name: "full chain",
        beside: Some("raw tonic, set_timeout"),
        most: 6_540,
    },
    Limit {
        title: "a unary call that fails once",
        name: "timeout, retry, breaker",
        beside: Some("raw tonic, called again by hand"),
        most: 7_010,
    },
    Limit {
        title: "one message of a response stream",
        name: "a message, full chain",
        beside: Some("a message, raw tonic"),
        most: 162,
    },
];
