//! The `evenkeel` command: would this policy survive the next outage?
//!
//! Exit status: 0 when all is well, 1 when a check or an assertion fails, 2 when something could not
//! be done at all.

mod check;
mod clock;
mod compare;
mod elsewhere;
mod explain;
mod input;
mod keep;
mod out;
mod parallel;
mod presets;
mod progress;
mod simulate;
mod speed;
mod validate;
mod value;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs a fleet of evenkeel's own machines against a server model, in virtual time.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Compare(compare::Args),
    Explain(explain::Args),
    Presets(presets::Args),
    Simulate(simulate::Args),
    Speed(speed::Args),
    Validate(validate::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Check(args) => check::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Presets(args) => presets::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Speed(args) => speed::run(&args),
        Command::Validate(args) => validate::run(&args),
    };
    match done.and_then(|well| out::finish().map(|()| well)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            out::aside(format_args!("evenkeel: {why}"));
            ExitCode::from(2)
        }
    }
}
