//! This file knows what is printed, and what may not be.

use core::time::Duration;
use std::process::ExitCode;
use std::time::Instant;

use tokio::time::sleep;

use crate::callers::Noticed;
use crate::member::Member;

pub(crate) struct Report {
    faults: u32,
}

impl Report {
    pub(crate) const fn new() -> Self {
        Self { faults: 0 }
    }

    /// Counts who is called, over a thousand calls; those who can be used should be called alike.
    pub(crate) async fn spread(&mut self, phase: &str, members: &[Member], usable: &[usize]) {
        // What was under way when it began belongs to the phase before.
        sleep(Duration::from_millis(200)).await;
        let before: Vec<u64> = members.iter().map(Member::calls).collect();
        let calls = || members.iter().zip(&before).map(|(member, before)| member.calls() - before);
        for _ in 0..300 {
            if calls().sum::<u64>() >= 1_000 {
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
        let calls: Vec<u64> = calls().collect();
        let fair = usable.iter().map(|member| calls[*member]).sum::<u64>() / usable.len() as u64;
        let even = usable.iter().all(|member| calls[*member].abs_diff(fair) * 10 <= fair);
        let rest: u64 = (0..calls.len()).filter(|n| !usable.contains(n)).map(|n| calls[n]).sum();
        let row = members
            .iter()
            .zip(&calls)
            .map(|(member, calls)| format!("{} {calls:>5}", member.name()));
        let row: Vec<String> = row.collect();
        println!("{phase:<24} {}", row.join("  "));
        self.check("  each got its share, within a tenth", fair > 0 && even);
        self.check("  and nobody else was called", rest == 0);
    }

    pub(crate) fn noticed(&mut self, after: Duration, round_trip: Duration, calls: u64) {
        println!(
            "that stock-3 is not serving was known after {after:.1?}, where a question and its \
             answer take {round_trip:.1?} at most; {calls} more calls"
        );
        // A message takes as long as the machine lets it, so the limit is what others took just
        // before and after; but not less than what no checker that asks could do.
        let limit = round_trip.max(Duration::from_millis(50));
        self.check("  it was told within a round trip", after <= limit);
        self.check("  only what was under way went there", calls <= 50);
    }

    pub(crate) fn callers(&mut self, noticed: Noticed) {
        let Noticed { calls, failed, error, widened } = noticed;
        println!("\ncallers made {calls} calls; {failed} failed");
        if let Some(error) = error {
            println!("  one of them: {error}");
        }
        self.check("no caller noticed anything", calls > 0 && failed == 0);
        self.check("no member was given more time than its caller had", widened == 0);
    }

    pub(crate) fn check(&mut self, what: &str, holds: bool) {
        self.faults += u32::from(!holds);
        println!("{what} {}", if holds { "✓" } else { "✗" });
    }

    pub(crate) fn conclude(self) -> ExitCode {
        if self.faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[expect(clippy::disallowed_methods, reason = "the example times real servers")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
