//! This file knows many runs: each in a process of its own, as many at a time as there are cores.

use core::ops::Range;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

/// Runs all of `seeds`; answers which failed, having printed why.
pub(crate) fn many(seeds: Range<u32>) -> io::Result<Vec<u32>> {
    let cores = available_parallelism().map_or(1, usize::from);
    let (mut failed, mut done, total) = (Vec::new(), 0, seeds.len());
    let mut running: Vec<(u32, Child)> = Vec::new();
    let mut seeds = seeds.into_iter();
    loop {
        while running.len() < cores
            && let Some(seed) = seeds.next()
        {
            running.push((seed, begin(seed)?));
        }
        if running.is_empty() {
            return Ok(failed);
        }
        // The oldest: runs take about equally long.
        let (seed, child) = running.remove(0);
        let output = child.wait_with_output()?;
        done += 1;
        if !output.status.success() {
            failed.push(seed);
            println!(
                "seed {seed} failed; again, with everything that happened: network seed {seed}"
            );
            println!("{}", String::from_utf8_lossy(&output.stdout));
            println!("{}", String::from_utf8_lossy(&output.stderr));
        }
        if done % 100 == 0 || done == total {
            println!("{done} of {total} seeds, {} failed", failed.len());
        }
    }
}

fn begin(seed: u32) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["brief", &seed.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}
