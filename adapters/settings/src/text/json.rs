//! This file knows how JSON is read, with the place of every value.
//!
//! `serde_json` tells no places, but lends each value as the piece of text it was written as; where
//! that piece begins is the place. A value is scanned once for each level it is nested in, so the
//! levels are few.

use core::fmt;
use std::collections::HashSet;

use serde_core::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::format::{Format, looks_like};
use super::{DEEPEST, TOO_DEEP, is_short_enough};
use crate::fault::Faults;
use crate::node::{Entry, Node, Value};

/// The values of a JSON text; `None` and the reasons among the faults if it is none.
pub(crate) fn tree<'t>(text: &'t str, faults: &mut Faults<'_>) -> Option<Node<'t>> {
    if !is_short_enough(text, faults) {
        return None;
    }
    let json = text.strip_prefix('\u{feff}').unwrap_or(text);
    let before = faults.count();
    let node = match serde_json::from_str::<&RawValue>(json) {
        Ok(whole) => Reading { text, faults }.node(whole, 0),
        Err(error) => {
            if let Some((at, instead)) = instead(text) {
                faults.refuse_at(Some(at), format!("is no JSON: {instead}"));
                return None;
            }
            let mut reading = Reading { text, faults };
            let at = reading.text.len().saturating_sub(json.len());
            reading.refuse(json, at, &error);
            return None;
        }
    };
    (faults.count() == before).then_some(node)
}

/// What the text seems to be in place of JSON, and where it begins.
fn instead(text: &str) -> Option<(usize, &'static str)> {
    let (at, format) = looks_like(text)?;
    match format {
        Format::Json => None,
        Format::Toml => Some((at, "it looks like TOML, which is read from a file named .toml")),
        Format::Yaml => Some((at, "it looks like YAML, which is not read; write TOML or JSON")),
    }
}

struct Reading<'t, 'f, 's> {
    text: &'t str,
    faults: &'f mut Faults<'s>,
}

impl<'t> Reading<'t, '_, '_> {
    fn node(&mut self, raw: &'t RawValue, depth: usize) -> Node<'t> {
        let piece = raw.get();
        let at = Some(self.place(piece));
        let value = match piece.as_bytes().first() {
            Some(b'{' | b'[') if depth == DEEPEST => {
                self.faults.refuse_at(at, TOO_DEEP);
                Value::Null
            }
            Some(b'{') => self.table(piece, depth.saturating_add(1)),
            Some(b'[') => self.list(piece, depth.saturating_add(1)),
            Some(b'"') => Value::Text(self.parsed::<String>(piece).into()),
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Null,
            _ => Value::Number(piece.into()),
        };
        Node { value, at }
    }

    fn list(&mut self, piece: &'t str, depth: usize) -> Value<'t> {
        let items = self.parsed::<Vec<&RawValue>>(piece);
        Value::List(items.into_iter().map(|item| self.node(item, depth)).collect())
    }

    fn table(&mut self, piece: &'t str, depth: usize) -> Value<'t> {
        let mut names = HashSet::new();
        let mut entries = Vec::new();
        for (key, raw) in self.parsed::<Object<'_>>(piece).0 {
            let at = Some(self.place(key.get()));
            let name = self.parsed::<String>(key.get());
            let text = self.text;
            let node = self.faults.within(&name, |faults| {
                if !names.insert(name.clone()) {
                    faults.refuse_at(at, "is there twice");
                }
                Reading { text, faults }.node(raw, depth)
            });
            entries.push(Entry { name: name.into(), at, node });
        }
        Value::Table(entries)
    }

    /// A piece that was scanned already; what can still be wrong is inside strings.
    fn parsed<T: Deserialize<'t> + Default>(&mut self, piece: &'t str) -> T {
        serde_json::from_str(piece).unwrap_or_else(|error| {
            self.refuse(piece, self.place(piece), &error);
            T::default()
        })
    }

    fn refuse(&mut self, piece: &str, at: usize, error: &serde_json::Error) {
        let said = error.to_string();
        // It ends in a line and a column, of the piece.
        let message = said.split(" at line ").next().unwrap_or_default().to_owned();
        let lines = piece.split_inclusive('\n').take(error.line().saturating_sub(1));
        let before: usize = lines.map(str::len).sum();
        let mut offset = at.saturating_add(before).saturating_add(error.column().saturating_sub(1));
        // It counts bytes, and may point behind the first of a character.
        while !self.text.is_char_boundary(offset) && offset > 0 {
            offset = offset.saturating_sub(1);
        }
        self.faults.refuse_at(Some(offset), message);
    }

    /// Where a piece of the text begins in it.
    fn place(&self, piece: &str) -> usize {
        piece.as_ptr().addr().saturating_sub(self.text.as_ptr().addr())
    }
}

/// An object with its members as they are written, in their order.
#[derive(Default)]
struct Object<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Object(members))
    }
}
