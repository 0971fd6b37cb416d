//! This file knows values as a settings file holds them, and where in it they stand.
//!
//! TOML, JSON and the environment are read into one kind of tree, so that every rule about a
//! setting is written once, and so that whatever is wrong can be told with its place.

use std::borrow::Cow;

use serde_core::ser::{Error, Serialize, SerializeMap, Serializer};

use crate::in_quotes;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node<'t> {
    pub(crate) value: Value<'t>,
    /// Bytes from the start of the text.
    pub(crate) at: Option<usize>,
}

/// What can stand behind a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'t> {
    Bool(bool),
    List(Vec<Node<'t>>),
    Null,
    /// As it was written: a float would not tell 0.1 from its neighbour.
    Number(Cow<'t, str>),
    /// No setting is of this type; the word for it.
    Other(&'static str),
    Table(Vec<Entry<'t>>),
    Text(Cow<'t, str>),
    /// From the environment, where only the setting knows what it is.
    Words(&'t str),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry<'t> {
    pub(crate) name: Cow<'t, str>,
    /// Where the key stands.
    pub(crate) at: Option<usize>,
    pub(crate) node: Node<'t>,
}

impl<'t> Node<'t> {
    pub(crate) const fn new(value: Value<'t>) -> Self {
        Self { value, at: None }
    }

    pub(crate) fn text(text: impl Into<Cow<'t, str>>) -> Self {
        Self::new(Value::Text(text.into()))
    }

    pub(crate) fn number(number: impl ToString) -> Self {
        Self::new(Value::Number(number.to_string().into()))
    }

    pub(crate) const fn flag(flag: bool) -> Self {
        Self::new(Value::Bool(flag))
    }

    pub(crate) fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::new(Value::List(items.into_iter().collect()))
    }

    pub(crate) fn table<N: Into<Cow<'t, str>>>(
        entries: impl IntoIterator<Item = (N, Self)>,
    ) -> Self {
        let entries = entries.into_iter();
        let entry = |(name, node): (N, Self)| Entry { name: name.into(), at: None, node };
        Self::new(Value::Table(entries.map(entry).collect()))
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<&str> {
        match &self.value {
            Value::Number(text) => Some(text),
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(flag) => Some(flag),
            Value::Words("true") => Some(true),
            Value::Words("false") => Some(false),
            _ => None,
        }
    }

    /// The items of a list; in the environment, what stands between commas.
    pub(crate) fn as_list(&self) -> Option<Cow<'_, [Self]>> {
        match &self.value {
            Value::List(items) => Some(items.into()),
            Value::Words(words) => Some(parts(words).map(|part| self.part(part)).collect()),
            _ => None,
        }
    }

    /// The entries of a table; in the environment, `name=value` between commas.
    pub(crate) fn as_table(&self) -> Option<Cow<'_, [Entry<'t>]>> {
        match &self.value {
            Value::Table(entries) => Some(entries.into()),
            Value::Words(words) => {
                let entry = |part: &'t str| {
                    let (name, value) = part.split_once('=')?;
                    let node = self.part(value.trim());
                    Some(Entry { name: name.trim().into(), at: self.at, node })
                };
                parts(words).map(entry).collect()
            }
            _ => None,
        }
    }

    const fn part(&self, words: &'t str) -> Self {
        Self { value: Value::Words(words), at: self.at }
    }

    /// The value for an error: short, and without the inside of what could be long.
    pub(crate) fn shown(&self) -> String {
        match &self.value {
            Value::Bool(flag) => flag.to_string(),
            Value::List(_) => "[…]".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Number(number) => shortened(number),
            Value::Other(kind) => format!("<{kind}>"),
            Value::Table(_) => "{…}".to_owned(),
            Value::Text(text) => in_quotes(&shareable(text)),
            Value::Words(words) => in_quotes(&shareable(words)),
        }
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::List(items) => serializer.collect_seq(items),
            Value::Null => serializer.serialize_unit(),
            Value::Number(number) => serialize_number(number, serializer),
            Value::Other(kind) => Err(S::Error::custom(kind)),
            Value::Table(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for entry in entries {
                    map.serialize_entry(&entry.name, &entry.node)?;
                }
                map.end()
            }
            Value::Text(text) => serializer.serialize_str(text),
            Value::Words(words) => serializer.serialize_str(words),
        }
    }
}

fn serialize_number<S: Serializer>(number: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if let Ok(whole) = number.parse() {
        return serializer.serialize_i64(whole);
    }
    serializer.serialize_f64(number.parse().map_err(Error::custom)?)
}

fn parts(words: &str) -> impl Iterator<Item = &str> {
    words.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// A text for an error. Somebody who mistook a key for its path must not find it in a log.
fn shareable(text: &str) -> String {
    if text.contains("-----BEGIN") { "<withheld>".to_owned() } else { shortened(text) }
}

/// As much of a text as an error quotes.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

const LONGEST_QUOTE: usize = 60;
