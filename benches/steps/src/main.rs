//! What a step of the machines takes, counted and held to a limit. Without the libraries that a call
//! over gRPC needs, so that it is built in no time.

use std::process::ExitCode;

use limits::Limit;

mod machines;

#[path = "../../cost/case.rs"]
mod case;
#[path = "../../cost/instructions.rs"]
mod instructions;
#[path = "../../cost/limits.rs"]
mod limits;

fn main() -> ExitCode {
    let groups = [machines::group()];
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match instructions::Order::from_arguments(&arguments) {
        // This process is the one being counted: it must do nothing else.
        Some(order) => order.carry_out(&groups),
        None => limits::check(&groups, &LIMITS),
    }
}

/// As they were counted, with the loop around a step (three to six) in them. Built together with what
/// is below them, as `benches/peers` is, most take less: a call under tokio 291.
const LIMITS: [Limit; 8] = [
    Limit { title: TITLE, name: "backoff: the random number given", beside: None, most: 17 },
    Limit { title: TITLE, name: "breaker, closed: admit, record", beside: None, most: 18 },
    Limit { title: TITLE, name: "breaker, open: admit", beside: None, most: 6 },
    Limit { title: TITLE, name: "breaker of threads, closed", beside: None, most: 21 },
    Limit { title: TITLE, name: "breaker of threads, open", beside: None, most: 29 },
    Limit { title: TITLE, name: "breaker of threads, share over time", beside: None, most: 118 },
    Limit { title: TITLE, name: "the same with a breaker", beside: None, most: 184 },
    Limit { title: TITLE, name: "a call under tokio", beside: None, most: 300 },
];
const TITLE: &str = "a step of the machines";
