//! This file knows how a file that does not fit its keys is refused: with the line, the key, and what
//! would be right, for each such key, in the words of the file and not in those of the reader.

use core::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::nearest::advice;

/// Reads a text; or says what is wrong with it, a line for each key that does not fit.
pub(super) fn read<T: DeserializeOwned>(source: &str) -> Result<T, String> {
    let mut wrong = Vec::new();
    let mut text = source.to_owned();
    while wrong.len() < MOST {
        match toml::from_str(&text) {
            Ok(read) if wrong.is_empty() => return Ok(read),
            Ok(_) => break,
            Err(error) => {
                wrong.push(of(&text, &error));
                // The reader stops at the first: what is behind it is found without it.
                let Some(without) = without(&text, &error) else { break };
                text = without;
            }
        }
    }
    wrong.sort_by_key(|(line, _)| *line);
    let lines: Vec<String> = wrong.into_iter().map(|(_, what)| what).collect();
    Err(lines.join("\n  "))
}

/// More than a person mends at once.
const MOST: usize = 10;

/// The text with spaces for the key that does not fit and its value, which leaves all others in their
/// lines. `None` where it is a section, or where what is left would be no TOML.
fn without(source: &str, error: &Error) -> Option<String> {
    let Key { span, is_table: false, .. } = key_at(source, error.span()?.start)? else {
        return None;
    };
    let blank = |letter: char| if letter == '\n' { '\n' } else { ' ' };
    let blanks: String = source.get(span.clone())?.chars().map(blank).collect();
    let mut text = source.to_owned();
    text.replace_range(span, &blanks);
    DeTable::parse(&text).is_ok().then_some(text)
}

/// What is wrong with a text, of which `error` is all that the reader knows; with the line it is in.
fn of(source: &str, error: &Error) -> (usize, String) {
    let at = error.span().map(|span| span.start);
    let key = at.and_then(|at| key_at(source, at));
    let why = match key {
        Some(Key { name, is_list: true, .. }) => format!("{name}: no key here takes a list"),
        Some(Key { name, .. }) => format!("{name}{}", rule(error.message())),
        // It is no TOML, or nobody knows where.
        None => error.message().into(),
    };
    match at.and_then(|at| source.get(..at)) {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            (line, format!("line {line}: {why}"))
        }
        None => (0, why),
    }
}

/// What is said behind the name of a key. serde tells what it expected as text alone, so its words
/// are taken apart here; words that are not known are left as they are.
fn rule(message: &str) -> String {
    // Of a value that is neither text nor a table, where one of some words must stand.
    if message.starts_with("wanted ") {
        return ": must be a word in quotes".into();
    }
    let Some((given, expected)) = message.rsplit_once(", expected ") else {
        return format!(": {message}");
    };
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let quoted = |text: &str| text.strip_prefix('`')?.strip_suffix('`').map(str::to_owned);
    if let Some(name) = given.strip_prefix("unknown field ").and_then(quoted) {
        return format!(": there is no such key; {}", advice(&name, &known));
    }
    if let Some(word) = given.strip_prefix("unknown variant ").and_then(quoted) {
        return format!(
            " = {:?}: there is no such word; {}",
            shortened(&word),
            advice(&word, &known)
        );
    }
    let what = ["invalid type: ", "invalid value: "].iter().find_map(|it| given.strip_prefix(it));
    // A message of ours may quote a text of the file that reads like one of serde's.
    let Some(what) = what else { return format!(": {message}") };
    format!(": must be {}, and is {}", in_words(expected), shortened(&what.replace('`', "")))
}

/// The types of the file's fields, as a person calls them.
fn in_words(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number",
        "f64" => "a number",
        section if section.starts_with("struct ") => "a section",
        same => same,
    }
}

struct Key {
    /// With its section, such as `fault.kind`.
    name: String,
    /// From the beginning of its name to the end of its value.
    span: Range<usize>,
    is_list: bool,
    is_table: bool,
}

/// The key whose name or value stands at this byte.
fn key_at(source: &str, at: usize) -> Option<Key> {
    let tree = DeTable::parse(source).ok()?;
    in_table(tree.get_ref(), at)
}

fn in_table(table: &DeTable<'_>, at: usize) -> Option<Key> {
    table.iter().find_map(|(name, value)| {
        let step = step(name.get_ref());
        if let DeValue::Table(inner) = Spanned::get_ref(value)
            && let Some(key) = in_table(inner, at)
        {
            return Some(Key { name: format!("{step}.{}", key.name), ..key });
        }
        let is_list = matches!(Spanned::get_ref(value), DeValue::Array(_));
        let is_table = matches!(Spanned::get_ref(value), DeValue::Table(_));
        let is_here = name.span().contains(&at) || value.span().contains(&at);
        let span = name.span().start..value.span().end;
        is_here.then_some(Key { name: step, span, is_list, is_table })
    })
}

/// A name as it is written in a path.
fn step(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let quoted = shortened(name);
    if name.chars().all(is_plain) { quoted } else { format!("{quoted:?}") }
}

/// As much of a text as a message quotes.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}
