//! This file knows how much memory the process has, and whether it is more and more.

use core::fmt;
use std::fs;

/// What is resident; nothing where the system does not tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch(Option<u64>);

pub(crate) fn now() -> Watch {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Watch(line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()))
}

/// Refuses memory that has grown by more than a tenth from the middle to the end, or by more
/// than a fifth since the beginning. What is small may vary by 8 MiB.
pub(crate) fn flat(marks: &[Watch]) -> Result<(), String> {
    let [Watch(Some(early)), Watch(Some(middle)), Watch(Some(end))] = marks else {
        println!("memory: this system does not tell");
        return Ok(());
    };
    println!(
        "memory at the end: x{:.2} since 50 %, x{:.2} since 10 %",
        ratio(*end, *middle),
        ratio(*end, *early)
    );
    let grown = |since: u64, tenths: u64| *end > since / 10 * tenths + 8 * 1024;
    if grown(*middle, 11) || grown(*early, 12) {
        return Err(format!("memory grew: {early}, {middle}, {end} kB"));
    }
    Ok(())
}

fn ratio(now: u64, before: u64) -> f64 {
    now as f64 / before.max(1) as f64
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(kib) => write!(f, "{} MiB", kib / 1024),
            None => f.write_str("memory unknown"),
        }
    }
}
