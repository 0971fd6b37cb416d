//! This file knows the page about scenarios, and writes into it which of them run where.
//!
//! Ids, situations, what happens here, and other tests are written on the page by hand. The columns
//! of the runtimes, and what the runtimes lack, are written by this.

use core::fmt::Write as _;
use std::collections::BTreeSet;

use crate::{Need, Runtime, Scenario, all};

/// The page, from the root of the repository.
pub const PAGE: &str = "docs/scenarios.md";

/// The page as it should be, given the page as it is.
///
/// # Errors
///
/// A scenario is about a row that the page does not have, a row lacks a cell that is written by hand,
/// or the place for the runtimes is gone.
pub fn page(text: &str) -> Result<String, String> {
    let mut unseen: BTreeSet<&str> =
        all().iter().flat_map(Scenario::ids).map(String::as_str).collect();
    let mut page = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == BEGIN {
            while lines.next_if(|line| *line != END).is_some() {}
            lines.next_if_eq(&END).ok_or_else(|| format!("{BEGIN} has no {END}"))?;
            page.push_str(&runtimes());
        } else if line.starts_with(HEADER) {
            let rows: Vec<&str> =
                core::iter::from_fn(|| lines.next_if(|line| line.starts_with('|'))).collect();
            // The first is the line under the header.
            let rows: Vec<Row<'_>> =
                rows.iter().skip(1).map(|row| Row::read(row)).collect::<Result<_, _>>()?;
            rows.iter().for_each(|row| _ = unseen.remove(row.id));
            page.push_str(&table(&rows));
        } else {
            page.push_str(line);
            page.push('\n');
        }
    }
    if let Some(id) = unseen.first() {
        return Err(format!("{PAGE} has no row {id}"));
    }
    if !text.contains(BEGIN) {
        return Err(format!("{PAGE} has no line {BEGIN}"));
    }
    Ok(page)
}

/// A row as it is written by hand.
struct Row<'a> {
    id: &'a str,
    situation: &'a str,
    here: &'a str,
    places: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Result<Self, String> {
        let inside = line.strip_prefix("| ").and_then(|rest| rest.strip_suffix(" |"));
        let cells: Vec<&str> = inside.unwrap_or_default().split(" | ").collect();
        match cells[..] {
            // An empty cell with one blank in it is no cell.
            [id, situation, here, .., places] if !places.is_empty() && !places.contains('|') => {
                Ok(Self { id, situation, here, places })
            }
            _ => Err(format!(
                "{PAGE}: no id, situation, what happens, or where it is a test: {line}"
            )),
        }
    }

    fn scenarios(&self) -> Vec<&'static Scenario> {
        all().iter().filter(|scenario| scenario.ids().iter().any(|id| id == self.id)).collect()
    }
}

fn table(rows: &[Row<'_>]) -> String {
    let scripted = rows.iter().any(|row| !row.scenarios().is_empty());
    let columns = if scripted { &Runtime::ALL[..] } else { &[] };
    let mut table = String::from(HEADER);
    let mut line = String::from("|---|---|---|");
    for runtime in columns {
        table.push_str(&format!(" {} |", runtime.name));
        line.push_str("---|");
    }
    table.push_str(&format!(" where |\n{line}---|\n"));
    for row in rows {
        let scenarios = row.scenarios();
        table.push_str(&format!("| {} | {} | {} |", row.id, row.situation, row.here));
        for runtime in columns {
            table.push_str(&format!(" {} |", cell(runtime, &scenarios)));
        }
        table.push_str(&format!(" {} |\n", row.places));
    }
    table
}

/// Whether a runtime runs these, and what it lacks otherwise.
fn cell(runtime: &Runtime, scenarios: &[&Scenario]) -> String {
    let lacks: BTreeSet<_> =
        scenarios.iter().filter_map(|scenario| runtime.lacks_for(scenario)).collect();
    let runs = scenarios.iter().any(|scenario| runtime.lacks_for(scenario).is_none());
    let mut cell = String::from(if runs { "✓" } else { "" });
    for need in lacks {
        // A row of several scenarios, of which one is missing here.
        let space = if cell.is_empty() { "" } else { " " };
        cell.push_str(&format!("{space}– {}", need.name()));
    }
    cell
}

fn runtimes() -> String {
    let mut text = format!("{BEGIN}\n\n| column | runs them with | of {} it runs |\n", all().len());
    text.push_str("|---|---|---|\n");
    for runtime in Runtime::ALL {
        let count = runtime.scenarios().count();
        // Writing to text cannot fail.
        _ = writeln!(text, "| {} | {} | {count} |", runtime.name, runtime.how);
    }
    text.push_str("\nWhat a runtime cannot be told of stands in its column:\n\n");
    for (need, why, names) in lacks() {
        _ = writeln!(text, "- {} – {}: {why}.", names.join(", "), need.name());
    }
    text.push_str(&format!("\n{END}\n"));
    text
}

/// Each lack once, with those that have it.
fn lacks() -> Vec<(Need, &'static str, Vec<&'static str>)> {
    let mut lacks: Vec<(Need, &str, Vec<&str>)> = Vec::new();
    for runtime in Runtime::ALL {
        for (need, why) in runtime.lacks {
            match lacks.iter_mut().find(|(other, reason, _)| (other, reason) == (need, why)) {
                Some((_, _, names)) => names.push(runtime.name),
                None => lacks.push((*need, why, vec![runtime.name])),
            }
        }
    }
    lacks
}

const HEADER: &str = "| id | situation | here |";
const BEGIN: &str = "<!-- written by evenkeel-scripted -->";
const END: &str = "<!-- until here -->";
