//! The page of a scenario's keys says what the reader accepts: all keys, and no other; their
//! defaults, what they may be, and what they belong to.

use std::collections::BTreeSet;
use std::path::Path;

use evenkeel_sim::ScenarioFile;

struct Row {
    section: String,
    key: String,
    /// As TOML; `None`: the page says in words that there is none.
    default: Option<String>,
    is_needed: bool,
    /// As TOML, in the order of the page.
    may_be: Vec<String>,
    is_range: bool,
    /// Another key that must be set, as a line of TOML.
    belongs_to: Option<String>,
}

#[test]
fn the_page_has_every_key_and_no_other() {
    for section in ["", "fleet", "server", "fault"] {
        let told: BTreeSet<String> =
            rows().into_iter().filter(|row| row.section == section).map(|row| row.key).collect();
        let mut known = offered(&refused(&text(section, &["nonsense = 1"])));
        for inner in ["fleet", "server", "fault"] {
            assert_eq!(known.remove(inner), section.is_empty());
        }
        assert_eq!(told, known, "[{section}]");
    }
}

#[test]
fn every_default_is_what_leaving_the_key_out_means() {
    for row in rows() {
        let Some(default) = &row.default else { continue };
        let mut lines: Vec<&str> = row.belongs_to.as_deref().into_iter().collect();
        let without = accepted(&text(&row.section, &lines));
        let line = format!("{} = {default}", row.key);
        lines.push(&line);
        let with = accepted(&text(&row.section, &lines));
        assert_eq!(shown(&with), shown(&without), "{line}");
    }
}

#[test]
fn everything_a_key_may_be_is_accepted_and_what_is_beyond_is_not() {
    for row in rows() {
        assert!(!row.may_be.is_empty(), "{} has no example", row.key);
        let message = refused(&row.with("{ a = 1 }"));
        let told = format!("{}: must be ", row.key);
        assert!(message.contains(&told) && message.ends_with(", and is a section"), "{message}");
        for value in &row.may_be {
            let chosen = format!("{} = {value}", row.key);
            let needed =
                |other: &Row| other.is_needed && other.belongs_to.as_ref() == Some(&chosen);
            match rows().iter().find(|other| needed(other)) {
                Some(other) => accepted(&other.with(&other.may_be[0])),
                None => accepted(&row.with(value)),
            };
        }
        if row.is_range {
            let [least, most] = &row.may_be[..] else { panic!("{} is no range", row.key) };
            let (least, most): (f64, f64) = (least.parse().unwrap(), most.parse().unwrap());
            let point = if row.may_be[0].contains('.') { ".0" } else { "" };
            for beyond in [least - 1.0, most + 1.0] {
                refused(&row.with(&format!("{beyond}{point}")));
            }
            let whole = if point.is_empty() { "whole " } else { "" };
            let told =
                format!("{}: must be a {whole}number from {least} to {most}, and is true", row.key);
            let message = refused(&row.with("true"));
            assert!(message.ends_with(&told), "{message}");
        }
    }
    for kind in ["law", "order", "kind"] {
        let rows = rows();
        let row = rows.iter().find(|row| row.key == kind).unwrap();
        let told = row.may_be.iter().map(|value| value.trim_matches('"').to_owned());
        let known = offered(&refused(&row.with("\"nonsense\"")));
        assert_eq!(told.collect::<BTreeSet<_>>(), known, "{kind}");
    }
}

#[test]
fn a_key_that_belongs_to_another_is_refused_without_it_and_a_needed_one_is_missed() {
    let mut needed = 0;
    for row in rows() {
        let Some(belongs_to) = &row.belongs_to else { continue };
        let alone = format!("{} = {}", row.key, row.may_be[0]);
        let message = refused(&text(&row.section, &[&alone]));
        let told = format!("{}.{}: belongs to {belongs_to}", row.section, row.key);
        assert!(message.contains(&told) && message.starts_with("line 2: "), "{message}");
        if row.is_needed {
            let message = refused(&text(&row.section, &[belongs_to]));
            let told = format!("{}.{}: {belongs_to} needs it", row.section, row.key);
            assert!(message.contains(&told) && message.starts_with("line 1: "), "{message}");
            needed += 1;
        }
    }
    assert_eq!(needed, 2);
    assert!(refused("[fleet]\nrate = 1.0\nthink = \"1s\"").starts_with("line 3: fleet.think"));
}

/// Each kind of fault has its line on the page.
#[test]
fn every_kind_of_fault_is_told() {
    let page = page();
    for kind in rows().iter().find(|row| row.key == "kind").unwrap().may_be.iter() {
        let row = format!("\n| `{}` | ", kind.trim_matches('"'));
        assert!(page.contains(&row), "{kind}");
    }
}

impl Row {
    /// A scenario with this key at `value`, and what it belongs to.
    fn with(&self, value: &str) -> String {
        let line = format!("{} = {value}", self.key);
        let mut lines: Vec<&str> = self.belongs_to.as_deref().into_iter().collect();
        lines.push(&line);
        text(&self.section, &lines)
    }
}

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario-keys.md");
    std::fs::read_to_string(page).unwrap()
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for chapter in page().split("\n## ").skip(1) {
        let title = chapter.lines().next().unwrap();
        let section = title.strip_prefix('[').and_then(|title| title.strip_suffix(']'));
        for line in chapter.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let ["", key, default, may_be, belongs_to, _, ""] = cells[..] else { continue };
            let Some(key) = key.strip_prefix('`') else { continue };
            let codes = |cell: &str| {
                cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
            };
            rows.push(Row {
                section: section.unwrap_or_default().into(),
                key: key.trim_end_matches('`').into(),
                default: codes(default).into_iter().next(),
                is_needed: default.contains("needed"),
                is_range: may_be.contains("` to `"),
                may_be: codes(may_be),
                belongs_to: codes(belongs_to).into_iter().find(|code| code.contains('=')),
            });
        }
    }
    rows
}

fn text(section: &str, lines: &[&str]) -> String {
    let head = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
    head + &lines.join("\n")
}

fn accepted(text: &str) -> ScenarioFile {
    ScenarioFile::parse(text, Path::new("")).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn refused(text: &str) -> String {
    match ScenarioFile::parse(text, Path::new("")) {
        Ok(_) => panic!("{text} was accepted"),
        Err(why) => why,
    }
}

/// Everything of a scenario but its text.
fn shown(file: &ScenarioFile) -> String {
    format!("{:?} {} {:?} {:?}", file.scenario, file.policy.name, file.policy.policy, file.seeds())
}

/// What there is in place of what was written.
fn offered(message: &str) -> BTreeSet<String> {
    let (_, all) = message.rsplit_once("; there are: ").unwrap_or_else(|| panic!("{message}"));
    all.split(", ").map(str::to_owned).collect()
}
