//! This file knows how a file that does not fit its keys is refused: with the line, the key, and what
//! would be right, in the words of the file and not in those of the reader.

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::nearest::advice;

/// What is wrong with a text, of which `error` is all that the reader knows.
pub(super) fn of(source: &str, error: &Error) -> String {
    let at = error.span().map(|span| span.start);
    let key = at.and_then(|at| key_at(source, at));
    let why = match key {
        Some(Key { name, is_list: true }) => format!("{name}: no key here takes a list"),
        Some(Key { name, .. }) => format!("{name}{}", rule(error.message())),
        // It is no TOML, or nobody knows where.
        None => error.message().into(),
    };
    match at.and_then(|at| source.get(..at)) {
        Some(before) => format!("line {}: {why}", before.matches('\n').count() + 1),
        None => why,
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
    is_list: bool,
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
            && let Some(Key { name, is_list }) = in_table(inner, at)
        {
            return Some(Key { name: format!("{step}.{name}"), is_list });
        }
        let is_list = matches!(Spanned::get_ref(value), DeValue::Array(_));
        let is_here = name.span().contains(&at) || value.span().contains(&at);
        is_here.then_some(Key { name: step, is_list })
    })
}

/// A name as it is written in a path.
fn step(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let quoted = shortened(name);
    if name.chars().all(is_plain) { quoted } else { format!("{quoted:?}") }
}

/// As much of a text as a message quotes.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}
