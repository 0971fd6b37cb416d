//! The payments lab: a server that misbehaves, a generated client that survives it, and a table of
//! what the caller saw, how often the server was asked, and how often money was taken.
//!
//! ```text
//! cargo run --release --example payments_lab            # a table
//! cargo run --release --example payments_lab -- --json  # one object for each row
//! ```
//!
//! Every case starts a server of its own on loopback. The process exits with 1 when a row is not
//! as expected.

mod cases;
mod native;

mod pb;
mod report;
mod runs;
mod server;
mod warnings;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn core::error::Error>> {
    let json = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--json") => true,
        Some(other) => {
            eprintln!("payments_lab: unknown argument {other:?}; the only one is --json");
            return Ok(ExitCode::from(2));
        }
    };
    tracing::subscriber::set_global_default(warnings::Counter)?;
    if !json {
        println!("A payments server that misbehaves to order; about 10 s for all cases.\n");
        report::print_head();
    }
    let (mut rows, mut as_expected) = (0, 0);
    cases::run_all(|id, teaches, expected, observed| {
        rows += 1;
        as_expected += usize::from(expected.faults(&observed).is_empty());
        if json {
            report::print_json(id, &expected, &observed);
        } else {
            report::print_row(id, teaches, &expected, &observed);
        }
    })
    .await?;
    if !json {
        println!("\n{as_expected} of {rows} rows as expected");
    }
    Ok(if as_expected == rows { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
