//! Replays recordings of grpc-client-kit on our machines and says how they compare.
//!
//! `cargo run -p evenkeel-tests --bin replay -- tests/traces/*.jsonl`; fails when a difference is
//! not one of those intended.

use std::path::Path;
use std::process::ExitCode;

use evenkeel_tests::replay::replay;

fn main() -> ExitCode {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    if paths.is_empty() {
        eprintln!("usage: replay FILE...");
        return ExitCode::from(2);
    }
    let mut all_intended = true;
    for path in &paths {
        match replay(Path::new(path)) {
            Ok(summary) => {
                print!("{summary}");
                all_intended &= summary.otherwise.is_empty();
            }
            Err(unreadable) => {
                eprintln!("{unreadable}");
                return ExitCode::from(2);
            }
        }
    }
    if all_intended { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
