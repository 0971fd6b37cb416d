//! Kits, a gateway and servers on a network that fails: the true tonic, hyper and h2, in virtual
//! time, every run decided by its seed.
//!
//! ```text
//! network 200          the seeds 0 to 199
//! network 200..10000   those
//! network seed 17      that one, with everything that happened
//! network brief 17     that one, with what belongs to what was wrong
//! ```
//!
//! # The picture
//!
//! ```text
//!   app ──────────────────┬──► backend-0        every line can be slow, held up or cut,
//!    kit: health, hedging ├──► backend-1        every server can be busy, broken, silent,
//!                         └──► backend-2        slow, unwell, or dead for a while; members
//!   web ─────► gateway ───┴──►    ...           come and go, callers go away
//!    kit: waits   kit: budgets
//! ```
//!
//! Servers and callers write into a [book]; an [audit], which asks no kit, finds out from it whether
//! every call ended once and in time, was executed no more often than it may be, went to members
//! only, and was answered by whom it asked. In the end the network is in order again, and so must
//! everything be: circuits closed, nothing held, no task left.
//!
//! # What it is not
//!
//! The simulated TCP does not send lost segments again: after a cut a connection is dead, and only
//! keepalive finds out. Hosts take turns on one thread: races of threads are loom's business.

mod audit;
mod backend;
mod book;
mod caller;
mod dice;
mod gateway;
mod hosts;
mod kits;
mod many;
mod method;
#[path = "../../src/pb.rs"]
mod pb;
mod plan;
mod proof;
mod socket;
mod visit;
mod watch;
mod world;

use std::collections::BTreeSet;
use std::env;
use std::process::ExitCode;

use crate::book::Event;
use crate::world::Run;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["seed", seed] => seed.parse().map_or_else(|_| usage(), |seed| one(seed, true)),
        ["brief", seed] => seed.parse().map_or_else(|_| usage(), |seed| one(seed, false)),
        [seeds] => {
            let (from, to) = seeds.split_once("..").unwrap_or(("0", seeds));
            match (from.parse(), to.parse()) {
                (Ok(from), Ok(to)) => all(from, to),
                _ => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("network COUNT | network FROM..TO | network seed SEED");
    ExitCode::from(2)
}

fn all(from: u32, to: u32) -> ExitCode {
    match many::many(from..to) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("a run could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}

fn one(seed: u32, whole: bool) -> ExitCode {
    let Run { entries, wrong, counts } = world::run(seed);
    let concerned: BTreeSet<u32> = wrong.iter().filter_map(|what| call_of(what)).collect();
    for (at, event) in &entries {
        let tells = match event {
            Event::Fault(_) | Event::Members { .. } | Event::Noted(_) | Event::Wrong(_) => true,
            other => other.call().is_some_and(|call| concerned.contains(&call)),
        };
        if whole || (tells && !wrong.is_empty()) {
            println!("{:>9.3} s  {event}", at.as_secs_f64());
        }
    }
    for what in &wrong {
        println!("seed {seed}: {what}");
    }
    println!("seed {seed}: {} wrong", wrong.len());
    println!("{counts}");
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The call a finding is about.
fn call_of(finding: &str) -> Option<u32> {
    let (number, _) = finding.strip_prefix("call ")?.split_once(':')?;
    number.parse().ok()
}
