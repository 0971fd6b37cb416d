//! This file draws one call against a server that is down: its attempts, and how far they spread.

use evenkeel_core::{Action, Call, Code, Deadline, Instant, Micros, Next, Outcome, Single};

use super::{Axes, Axis, Figure};
use crate::plot::{Chart, Scale, clock, short};
use crate::summary::quantile;
use crate::{FaultKind, Policy, Scenario};

/// When an attempt of many equal calls starts, and when the middle one ends.
struct Attempt {
    early: f64,
    middle: f64,
    late: f64,
    end: f64,
}

pub(super) fn figure(axes: &mut Axes, scenario: &Scenario, policy: &Policy) -> Figure {
    let at_once = matches!(
        scenario.fault.kind,
        FaultKind::FailFast | FaultKind::Partial { .. } | FaultKind::Restart { .. }
    );
    let attempts = attempts(policy, at_once);
    let shown = attempts.iter().take(MOST);
    let last = shown.clone().map(|attempt| attempt.end.max(attempt.late)).fold(0.1, f64::max);
    let deadline = policy.call.timeout().as_micros() as f64 / 1e6;
    let has_deadline = deadline < last * 3.0;
    let end = if has_deadline { last.max(deadline) * 1.04 } else { last * 1.08 };
    let end = axes.reach(Axis::Call, end);
    let mut rows = attempts.len().clamp(1, MOST) as f64;
    if has_deadline {
        rows += 0.7; // For its name, below the bars.
    }
    let mut chart = Chart::new(
        Scale::linear(0.0, end),
        "time from the start of the call, s",
        Scale::rows(rows),
        "attempt",
    )
    .with_height(112.0 + 26.0 * rows.max(2.0));
    for (row, attempt) in shown.enumerate() {
        let row = row as f64;
        chart.block("bar c6", (attempt.early, row + 0.18), (attempt.late, row + 0.42));
        let end = attempt.end.max(attempt.middle + end / 400.0);
        chart.block("bar c1", (attempt.middle, row + 0.5), (end, row + 0.86));
        chart.row(row + 0.72, &(row as u32 + 1).to_string());
    }
    if has_deadline {
        chart.upright("level", deadline);
        chart.note("note end", deadline - end / 150.0, rows - 0.16, "deadline of the call");
    }
    chart.name("c1", "the middle call's attempt");
    chart.name("c6", "where 90 % of such attempts start");
    let title = "One call while the server is down";
    let most = policy.call.retry().max_attempts().into();
    let limit = policy.call.attempt_timeout().shorter(policy.call.timeout());
    let conclusion = if at_once || limit < Micros::SETTING_END {
        conclusion(&attempts, most, final_code(policy, at_once))
    } else {
        "One attempt, and the caller never knows.".into()
    };
    Figure { id: "call", title, conclusion, svg: chart.finish(title) }
}

fn conclusion(attempts: &[Attempt], most: usize, final_code: Option<Code>) -> String {
    let Some(last) = attempts.last() else {
        return "The call makes no attempt.".into();
    };
    let tries = attempts.len();
    if tries == 1 {
        let why = final_code.map_or_else(String::new, |code| {
            format!(": {} is not among the retried codes, so there is no other", code.name())
        });
        return format!("One attempt, and the caller knows after {}{why}.", clock(last.end));
    }
    let spread = last.late - last.early;
    let gap = last.middle;
    let all = if tries < most { format!(" of {most}") } else { String::new() };
    // There is nothing to be said of those that nobody looked at.
    let fit = if tries < most.min(LOOKED_AT) { " fit into the timeout" } else { "" };
    if spread * 20.0 < gap {
        return format!(
            "{tries}{all} attempts{fit}; the last one starts {} after the first and its spread is only {}: \
             callers that failed together come back together.",
            clock(gap),
            clock(spread)
        );
    }
    format!(
        "{tries}{all} attempts{fit}, over after {}; by the last one, calls that failed together are {} apart.",
        clock(last.end),
        if spread > 0.0 { clock(spread) } else { short(spread) }
    )
}

/// The code for which nothing is tried again although there are retries. An attempt that took all
/// of the call's time leaves none for another, whatever the codes.
fn final_code(policy: &Policy, at_once: bool) -> Option<Code> {
    let (call, code) = (&policy.call, code(at_once));
    let has_time = at_once || call.attempt_timeout().as_micros() < call.timeout().as_micros();
    let is_final = call.retry().max_attempts() > 1 && !call.retry().codes().contains(code);
    (has_time && is_final).then_some(code)
}

/// How an attempt ends at a server that is down.
const fn code(at_once: bool) -> Code {
    if at_once { Code::Unavailable } else { Code::DeadlineExceeded }
}

/// The attempts of many calls that fail as such a fault makes them fail.
fn attempts(policy: &Policy, at_once: bool) -> Vec<Attempt> {
    let mut starts: Vec<Vec<u64>> = Vec::new();
    let mut ends: Vec<Vec<u64>> = Vec::new();
    for seed in 0..CALLS {
        for (number, (start, end)) in schedule(policy, at_once, seed).into_iter().enumerate() {
            if starts.len() <= number {
                starts.push(Vec::new());
                ends.push(Vec::new());
            }
            starts[number].push(start);
            ends[number].push(end);
        }
    }
    let seconds = |times: &[u64], percent| quantile(times, percent) as f64 / 1e6;
    let attempts = starts.iter().zip(&ends).map(|(starts, ends)| {
        let [early, middle, late] = [5, 50, 95].map(|percent| seconds(starts, percent));
        Attempt { early, middle, late, end: seconds(ends, 50) }
    });
    attempts.collect()
}

/// How many attempts a call makes where each runs into its time, in the mean.
pub(super) fn expiring_attempts(policy: &Policy) -> f64 {
    let all: usize = (0..CALLS).map(|seed| schedule(policy, false, seed).len()).sum();
    all as f64 / f64::from(CALLS)
}

/// Start and end of each attempt of one call.
fn schedule(policy: &Policy, at_once: bool, seed: u32) -> Vec<(u64, u64)> {
    let mut upstream = Single::new(&policy.call);
    let mut now = Instant::ZERO;
    let mut call = Call::new(policy.call.deadline(now, Deadline::NONE), seed);
    let mut times = Vec::new();
    while times.len() < LOOKED_AT {
        match call.poll(now, &mut upstream) {
            Action::Attempt(attempt) => {
                let (start, end) = (now, attempt.deadline());
                let is_endless = !at_once && end.is_none();
                if is_endless {
                    now = start.after(PATIENCE);
                } else if !at_once {
                    now = end.instant();
                }
                times.push((start.as_micros(), now.as_micros()));
                if is_endless {
                    break;
                }
                let outcome = Outcome::new(code(at_once));
                let next = call.complete(now, &mut upstream, attempt, outcome);
                if let Next::Stop(_) = next {
                    break;
                }
            }
            Action::WaitUntil(at) => now = at,
            Action::Finish(_) => break,
        }
    }
    times
}

const CALLS: u32 = 200;
const MOST: usize = 12;
const LOOKED_AT: usize = 4 * MOST;
/// For an attempt that nothing ends, so that there is something to draw.
const PATIENCE: Micros = Micros::from_millis(60_000);
