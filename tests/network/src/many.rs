//! This file knows many runs: each in a process of its own, as many at a time as there are cores.

use core::ops::Range;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

use crate::audit::Counts;

/// Runs all of `seeds`, prints why any failed, and how much there was of what; answers whether all
/// was as it must be. Among so many that chance is no excuse, each kind of fault must have been.
pub(crate) fn many(seeds: Range<u32>) -> io::Result<bool> {
    let cores = available_parallelism().map_or(1, usize::from);
    let (mut failed, mut done, total) = (0_usize, 0, seeds.len());
    let mut counts = Counts::default();
    let mut running: Vec<(u32, Child)> = Vec::new();
    let mut seeds = seeds.into_iter();
    loop {
        while running.len() < cores
            && let Some(seed) = seeds.next()
        {
            running.push((seed, begin(seed)?));
        }
        if running.is_empty() {
            break;
        }
        // The oldest: runs take about equally long.
        let (seed, child) = running.remove(0);
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        done += 1;
        match text.lines().last().and_then(Counts::read).filter(|_| output.status.success()) {
            Some(more) => counts.join(&more),
            None => {
                failed += 1;
                println!("seed {seed} failed; all that happened: network seed {seed}");
                println!("{text}");
                println!("{}", String::from_utf8_lossy(&output.stderr));
            }
        }
        if done % 1_000 == 0 || done == total {
            println!("{done} of {total} seeds, {failed} failed");
        }
    }
    println!("{counts}");
    let missing = if total < MANY { Vec::new() } else { counts.missing() };
    if !missing.is_empty() {
        println!("in none of these runs there were {missing:?}");
    }
    Ok(failed == 0 && missing.is_empty())
}

fn begin(seed: u32) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["brief", &seed.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// In each run a kind of fault has several chances to be among what is drawn.
const MANY: usize = 50;
