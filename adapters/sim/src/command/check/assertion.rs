//! This file knows assertions: a number of the simulation, a comparison, and a bound.

use core::str::FromStr;

use evenkeel_core::Micros;
use evenkeel_sim::{FEW, parse_span};

use super::Findings;

/// Such as `recover.p95 < 60s`.
pub(crate) struct Assertion {
    text: String,
    name: Name,
    comparison: Comparison,
    bound: f64,
}

/// What came of one.
pub(crate) struct Verdict {
    pub(crate) text: String,
    pub(crate) got: String,
    pub(crate) passes: bool,
}

#[derive(Clone, Copy)]
enum Comparison {
    Above,
    AtLeast,
    AtMost,
    Below,
    Equal,
}

#[derive(Clone, Copy)]
struct Name {
    name: &'static str,
    /// The row of the table that has the same number; none, where it is of no run.
    row: &'static str,
    unit: Unit,
    number: fn(&Findings) -> f64,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Unit {
    Plain,
    Seconds,
    Share,
}

/// Infinity stands for "never" and for "for ever": no bound is above it.
fn seconds(time: Option<u32>) -> f64 {
    time.map_or(f64::INFINITY, f64::from)
}

const NAMES: [Name; 12] = [
    name("recover.median", "Time to recover, median", Unit::Seconds, |all| {
        seconds(all.batch.median())
    }),
    name("recover.p95", "Time to recover, p95", Unit::Seconds, |all| seconds(all.batch.p95())),
    name("never", "Runs that never recovered", Unit::Share, |all| all.batch.never()),
    name("amp.mean", "Attempts per call in the fault", Unit::Plain, |all| {
        all.batch.mean(|run| run.amplification)
    }),
    name("amp.peak", "Attempts at the peak, × offered", Unit::Plain, |all| {
        all.batch.most(|run| run.peak)
    }),
    name("success.during", "Good calls during the fault", Unit::Share, |all| {
        all.batch.mean(|run| run.success_during)
    }),
    name("success.after", "Good calls after, 2 min at most", Unit::Share, |all| {
        all.batch.mean(|run| run.success_after)
    }),
    name("wasted", "Work done for nobody", Unit::Share, |all| all.batch.mean(|run| run.wasted)),
    name("breaker.seconds", "Added by the breaker", Unit::Seconds, |all| {
        all.batch.mean(|run| run.breaker_seconds)
    }),
    name(SAFE_LOAD, "Safe load for this fault", Unit::Share, |all| {
        all.safe_load.unwrap_or(f64::NAN)
    }),
    name("attempts.max", "", Unit::Plain, |all| f64::from(all.worst.attempts)),
    name("duration.max", "", Unit::Seconds, |all| {
        all.worst.duration.map_or(f64::INFINITY, |span: Micros| span.as_micros() as f64 / 1e6)
    }),
];

const SAFE_LOAD: &str = "safe.load";

const fn name(
    name: &'static str,
    row: &'static str,
    unit: Unit,
    number: fn(&Findings) -> f64,
) -> Name {
    Name { name, row, unit, number }
}

/// What an assertion calls the number of a row of the table; nothing, if none can be about it.
pub(super) fn name_of(row: &str) -> &'static str {
    NAMES.iter().find(|name| name.row == row).map_or("", |name| name.name)
}

impl FromStr for Assertion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let signs = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("==", Comparison::Equal),
            ("<", Comparison::Below),
            (">", Comparison::Above),
        ];
        let found = signs.iter().find_map(|(sign, comparison)| {
            text.split_once(sign).map(|(left, right)| (left.trim(), *comparison, right.trim()))
        });
        let (left, comparison, right) = found.ok_or_else(|| {
            format!("\"{text}\": write a number, one of < <= == >= >, and a bound")
        })?;
        let name = NAMES.iter().find(|name| name.name == left).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|name| name.name).collect();
            format!("\"{text}\": {left} is no number of a check; those are {}", known.join(", "))
        })?;
        let bound = bound(right, name.unit).map_err(|why| format!("\"{text}\": {why}"))?;
        Ok(Self { text: text.into(), name: *name, comparison, bound })
    }
}

impl Assertion {
    pub(crate) fn judge(&self, findings: &Findings) -> Verdict {
        if let Some(why) = self.unknown(findings) {
            let got = format!("nothing, for {why}");
            return Verdict { text: self.text.clone(), got, passes: false };
        }
        let got = (self.name.number)(findings);
        let passes = match self.comparison {
            Comparison::Above => got > self.bound,
            Comparison::AtLeast => got >= self.bound,
            Comparison::AtMost => got <= self.bound,
            Comparison::Below => got < self.bound,
            // Exact: what is asserted to be equal is a count, or a share of 0 or 1.
            Comparison::Equal => (got - self.bound).abs() < 1e-9,
        };
        let got = match self.name.unit {
            _ if got.is_infinite() && self.name.name == "duration.max" => "for ever".into(),
            _ if got.is_infinite() => "never".into(),
            Unit::Seconds => told(got, self.bound, 1) + " s",
            Unit::Share => told(got * 100.0, self.bound * 100.0, 1) + " %",
            Unit::Plain => told(got, self.bound, 2),
        };
        Verdict { text: self.text.clone(), got, passes }
    }

    /// Why there is no number, where there is none.
    fn unknown(&self, findings: &Findings) -> Option<&'static str> {
        if !self.name.row.is_empty() && findings.batch.cut_short() > 0 {
            return Some("a run was cut short at max_events");
        }
        let row = findings.facts().into_iter().find(|(row, _)| *row == self.name.row);
        if row.is_some_and(|(_, value)| value == FEW) {
            return Some("there are too few calls to judge by");
        }
        match self.name.name {
            SAFE_LOAD => findings.safe_load.err(),
            _ => None,
        }
    }
}

/// A number with so many digits that it is seen on which side of the bound it is, and never fewer than
/// the bound was given.
fn told(got: f64, bound: f64, least: usize) -> String {
    let is_equal = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let with = |number: f64, digits: usize| format!("{number:.digits$}");
    let as_far = |number: f64, digits: usize| with(number, digits).parse().unwrap_or(number);
    let is_enough = |digits: &usize| {
        let seen: f64 = as_far(got, *digits);
        let is_same_side =
            is_equal(seen, bound) == is_equal(got, bound) && (seen > bound) == (got > bound);
        is_same_side && is_equal(as_far(bound, *digits), bound)
    };
    with(got, (least..MOST_DIGITS).find(is_enough).unwrap_or(MOST_DIGITS))
}

/// Spans are counted in microseconds.
const MOST_DIGITS: usize = 6;

/// A bound in the unit of its number: "60s", "25 %", "1.5".
fn bound(text: &str, unit: Unit) -> Result<f64, String> {
    let plain = |text: &str| {
        let number: Result<f64, _> = text.trim().parse();
        number.ok().filter(|number| number.is_finite())
    };
    match unit {
        // Seconds to one reader, milliseconds to the next.
        Unit::Seconds if plain(text).is_some_and(|number| number >= 0.0) => {
            Err(format!("needs a unit: {text}s, {text}ms, …"))
        }
        Unit::Seconds => parse_span(text).map(|span| span.as_micros() as f64 / 1e6),
        Unit::Share if text.ends_with('%') => {
            let percent = plain(text.trim_end_matches('%'));
            match percent.ok_or_else(|| format!("\"{text}\" is no share"))? {
                // What is beyond always holds, or never does: nothing would have been asked.
                percent @ 0.0..=100.0 => Ok(percent / 100.0),
                _ => Err("a share is from 0 to 100 %".into()),
            }
        }
        Unit::Share | Unit::Plain => match plain(text) {
            Some(number) if number < 0.0 => {
                Err(format!("{text} is below zero, as no number here is"))
            }
            // Whoever writes 5 for a share means that many percent.
            Some(share) if unit == Unit::Share && share > 1.0 => {
                Err(format!("a share is at most 1: write {text} %, or a share from 0 to 1"))
            }
            number => number.ok_or_else(|| format!("\"{text}\" is no number")),
        },
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_sim::{Batch, FaultKind, Scenario, facts_of_enough};

    use super::{NAMES, name_of};

    #[test]
    fn every_row_of_the_table_but_the_load_can_be_asserted() {
        let scenario = Scenario::outage(FaultKind::Stall);
        let rows: Vec<_> = facts_of_enough(&scenario, &Batch { runs: Vec::new() }, Some(1.0))
            .iter()
            .map(|fact| fact.0)
            .collect();
        for row in rows.iter().filter(|row| **row != "Load") {
            assert_ne!(name_of(row), "", "{row}");
        }
        for name in NAMES.iter().filter(|name| !name.row.is_empty()) {
            assert!(rows.contains(&name.row), "{}", name.name);
        }
    }
}
