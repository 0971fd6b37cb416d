//! This file knows how a file that does not fit its keys is refused: with the line, the key, and what
//! would be right, for each such key, in the words of the file and not in those of the reader.

use evenkeel_settings::in_quotes;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

use super::nearest::advice;
use super::takes;

/// Reads a text; or says what is wrong with it, a line for each key that does not fit.
pub(super) fn read<T: DeserializeOwned>(source: &str) -> Result<T, String> {
    let tree = DeTable::parse(source);
    let mut tree = tree.map_err(|error| match source.trim_start().starts_with('{') {
        true => "is no TOML: it looks like JSON; write key = value".into(),
        false => of(source, &error, None).1,
    })?;
    let mut wrong = Vec::new();
    while wrong.len() < MOST {
        match T::deserialize(Deserializer::from(tree.clone())) {
            Ok(read) if wrong.is_empty() => return Ok(read),
            Ok(_) => break,
            Err(error) => {
                let key =
                    error.span().and_then(|span| key_at(source, tree.get_ref(), span.start, &[]));
                wrong.push(of(source, &error, key.as_ref()));
                // The reader stops at the first: what is behind it is found without it.
                if !key.is_some_and(|key| leave_out(tree.get_mut(), &key.path)) {
                    break;
                }
            }
        }
    }
    wrong.sort_by_key(|(line, _)| *line);
    let lines: Vec<String> = wrong.into_iter().map(|(_, what)| what).collect();
    Err(lines.join("\n  "))
}

/// More than a person mends at once.
const MOST: usize = 10;

/// Takes a key out, be it a section; `false` where there is none.
fn leave_out(table: &mut DeTable<'_>, path: &[String]) -> bool {
    match path {
        [] => false,
        [name] => table.remove(name.as_str()).is_some(),
        [section, path @ ..] => match table.get_mut(section.as_str()).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => leave_out(inner, path),
            _ => false,
        },
    }
}

/// What is wrong with a key, of which `error` is all that the reader knows; with the line it is in.
fn of(source: &str, error: &Error, key: Option<&Key>) -> (usize, String) {
    let why = match key {
        Some(key) if key.is_list => format!("{}: no key here takes a list", key.name),
        Some(key) => format!("{}{}", key.name, rule(key, error.message())),
        // It is no TOML, or nobody knows where.
        None => syntax(error.message()).into(),
    };
    match error.span().and_then(|span| source.get(..span.start)) {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            (line, format!("line {line}: {why}"))
        }
        None => (0, why),
    }
}

/// What is said behind the name of a key. serde tells what it wanted as text alone, in words for who
/// writes a reader: only the names of keys and words are taken from it, and messages of ours.
fn rule(key: &Key, message: &str) -> String {
    if let Some((_, advice)) = unknown(message, "field") {
        return format!(": there is no such key; {advice}");
    }
    if let Some((word, advice)) = unknown(message, "variant").filter(|_| !key.is_table) {
        return format!(" = {}: there is no such word; {advice}", in_quotes(&word));
    }
    match takes::of(&key.name) {
        // Ours quote what they are about, and begin so.
        Some(right) if !message.starts_with('"') => {
            format!(": must be {right}, and is {}", key.value)
        }
        _ => format!(": {message}"),
    }
}

/// The name or word that there is none of, and what there is instead.
fn unknown(message: &str, what: &str) -> Option<(String, String)> {
    let (given, known) = message.rsplit_once(", expected ")?;
    let given = given.strip_prefix("unknown ")?.strip_prefix(what)?.strip_prefix(" `")?;
    let name = given.strip_suffix('`')?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some((shortened(name), advice(name, &known)))
}

/// What is wrong with a section `[model]`, of which the reader tells neither line nor key.
pub(super) fn model(message: &str) -> String {
    if message.contains("internally tagged") {
        return "model: must be a section".into();
    }
    if let Some((key, advice)) = unknown(message, "field") {
        return format!("[model]: {}: there is no such key; {advice}", in_quotes(&key));
    }
    if let Some((word, advice)) = unknown(message, "variant") {
        return format!("[model]: budget = {}: there is no such word; {advice}", in_quotes(&word));
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("[model]: {} is missing", key.replace('`', ""));
    }
    let wrong = message.strip_prefix("invalid ").and_then(|rest| rest.rsplit_once(", expected "));
    let Some((given, wanted)) = wrong else { return format!("[model]: {message}") };
    let wanted = match wanted {
        "u32" => "a whole number from 0 to 4294967295",
        "f64" => "a number",
        "a boolean" => "true or false",
        "variant identifier" => "a word in quotes",
        same => same,
    };
    let value =
        given.find(['`', '"']).and_then(|at| given.get(at..)).unwrap_or("a section or a list");
    let value = shortened(&value.replace('`', ""));
    format!("[model]: a key must be {wanted}, and is {value}")
}

/// What the reader says of a text that is no TOML, as far as a person can use it.
fn syntax(message: &str) -> &str {
    if message.contains("recurs") {
        return "nested too deeply";
    }
    let useless = [", expected nothing", ", expected literal string"];
    useless.iter().find_map(|end| message.strip_suffix(end)).unwrap_or(message)
}

struct Key {
    /// With its section, such as `fault.kind`.
    name: String,
    /// The same, step by step and as it is.
    path: Vec<String>,
    /// As it is written, or what it is.
    value: String,
    is_list: bool,
    is_table: bool,
}

/// The key in a section, which is empty for the whole text, whose name or value stands at this byte.
fn key_at(source: &str, table: &DeTable<'_>, at: usize, section: &[String]) -> Option<Key> {
    table.iter().find_map(|(name, value)| {
        let path = [section, &[name.get_ref().to_string()]].concat();
        let steps: Vec<String> = path.iter().map(|name| step(name)).collect();
        let whole = steps.join(".");
        let within = match Spanned::get_ref(value) {
            DeValue::Table(inner) => key_at(source, inner, at, &path),
            _ => None,
        };
        // What is in a section; in place of a value there is none.
        let is_within = within.is_some();
        if is_within && takes::of(&whole).is_none_or(|right| right == "a section") {
            return within;
        }
        let is_list = matches!(Spanned::get_ref(value), DeValue::Array(_));
        let is_table = matches!(Spanned::get_ref(value), DeValue::Table(_));
        let is_here = is_within || name.span().contains(&at) || value.span().contains(&at);
        let written = match Spanned::get_ref(value) {
            DeValue::String(text) => in_quotes(&shortened(text)),
            DeValue::Table(_) => "a section".into(),
            _ => shortened(source.get(value.span()).unwrap_or_default()),
        };
        is_here.then_some(Key { name: whole, path, value: written, is_list, is_table })
    })
}

/// A name as it is written in a path.
fn step(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let quoted = shortened(name);
    if name.chars().all(is_plain) { quoted } else { in_quotes(&quoted) }
}

/// As much of a text as a message quotes.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}
