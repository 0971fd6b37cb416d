//! This file knows whether a runtime did what is written, and shows both where it did not.

use core::fmt::Write as _;

use evenkeel_core::Micros;

use crate::look::Look;
use crate::{Scenario, Trace, time};

/// What a runtime did.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Each call, in the order of the scenario's.
    pub calls: Vec<Trace>,
    /// What each look showed.
    pub looks: Vec<Look>,
}

impl Scenario {
    /// Whether `seen` is what is written.
    ///
    /// # Errors
    ///
    /// What is written and what was seen, side by side, with a mark where they differ.
    pub fn check(&self, seen: &Seen) -> Result<(), String> {
        let mut table = Table::default();
        let mut shown = 0;
        for (number, call) in self.calls.iter().enumerate() {
            let rows = rows(&call.expected, seen.calls.get(number));
            // Of a thousand calls, those that differ.
            if self.calls.len() <= MOST || rows.iter().any(|row| !row.same) {
                shown += 1;
                if shown <= MOST {
                    let start = time::written(call.at);
                    table.head(&format!("call {} at {start}", number + 1));
                    table.rows.extend(rows);
                }
            }
        }
        if !self.looks.is_empty() {
            table.head("looks");
        }
        for (number, look) in self.looks.iter().enumerate() {
            let other = seen.looks.get(number);
            table.rows.push(Row {
                written: look.to_string(),
                seen: other.map(ToString::to_string).unwrap_or_default(),
                same: other == Some(look),
            });
        }
        if table.rows.iter().all(|row| row.same) && seen.calls.len() == self.calls.len() {
            return Ok(());
        }
        Err(format!("{}\n{}", self.name(), table.text()))
    }
}

fn rows(written: &Trace, seen: Option<&Trace>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut last = Micros::ZERO;
    let most = written.sent.len().max(seen.map_or(0, |seen| seen.sent.len()));
    for index in 0..most {
        let (one, other) = (written.sent.get(index), seen.and_then(|seen| seen.sent.get(index)));
        rows.push(Row {
            written: one.map(ToString::to_string).unwrap_or_default(),
            seen: other.map(ToString::to_string).unwrap_or_default(),
            same: matches!((one, other), (Some(one), Some(other)) if one.allows(other, last)),
        });
        last = other.map_or(last, |other| other.at.from);
    }
    rows.push(Row {
        written: written.end.to_string(),
        seen: seen.map(|seen| seen.end.to_string()).unwrap_or_default(),
        same: seen.is_some_and(|seen| written.end.allows(&seen.end, last)),
    });
    rows
}

/// Two columns, and whether they agree.
struct Row {
    written: String,
    seen: String,
    same: bool,
}

#[derive(Default)]
struct Table {
    rows: Vec<Row>,
}

impl Table {
    fn head(&mut self, text: &str) {
        let written = format!("-- {text}");
        self.rows.push(Row { written, seen: String::new(), same: true });
    }

    fn text(&self) -> String {
        let width = self.rows.iter().map(|row| row.written.chars().count()).max().unwrap_or(0);
        let width = width.max(HEAD.0.len());
        let mut text = format!("      {:width$}   {}\n", HEAD.0, HEAD.1);
        for Row { written, seen, same } in &self.rows {
            let mark = if *same { ' ' } else { '≠' };
            // Writing to text cannot fail.
            let _ = writeln!(text, "      {written:width$} {mark} {seen}");
        }
        text
    }
}

const HEAD: (&str, &str) = ("written", "seen");
/// How many calls are shown; of more, those that differ.
const MOST: usize = 12;
