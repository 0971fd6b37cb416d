//! This file knows how TOML is read.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Error};

use super::format::{Format, looks_like};
use super::{DEEPEST, TOO_DEEP, is_short_enough};
use crate::fault::Faults;
use crate::node::{Entry, Node, Value};

/// The values of a TOML text; `None` and the reasons among the faults if it is none.
pub(crate) fn tree<'t>(text: &'t str, faults: &mut Faults<'_>) -> Option<Node<'t>> {
    if !is_short_enough(text, faults) {
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        refuse(text, &errors, faults);
        return None;
    }
    let before = faults.count();
    let value = entries(table.into_inner(), 1, faults);
    (faults.count() == before).then_some(Node { value, at: None })
}

fn refuse(text: &str, errors: &[Error], faults: &mut Faults<'_>) {
    let instead = match looks_like(text) {
        Some((at, Format::Json)) => {
            Some((at, "it looks like JSON, which is read from a file named .json"))
        }
        Some((at, Format::Yaml)) => {
            Some((at, "it looks like YAML, which is not read; write key = value"))
        }
        Some((_, Format::Toml)) | None => None,
    };
    if let Some((at, instead)) = instead {
        faults.refuse_at(Some(at), format!("is no TOML: {instead}"));
        return;
    }
    for error in errors {
        let at = error.span().map(|span| span.start);
        if is_too_deep(error) {
            // What follows is the other end of what was not entered.
            faults.refuse_at(at.or_else(|| dotted(text)), TOO_DEEP);
            return;
        }
        // The message alone: what `Display` adds quotes the line, and a line may hold a secret.
        faults.refuse_at(at, error.message());
    }
}

/// The reader has a limit of its own, and words for it that speak of the reader.
fn is_too_deep(error: &Error) -> bool {
    error.message().contains("recursion limit") || error.message().starts_with("cannot recurse")
}

/// Where the first line begins whose key has too many parts.
fn dotted(text: &str) -> Option<usize> {
    let mut at = 0_usize;
    for line in text.split_inclusive('\n') {
        let key = line.split('=').next().unwrap_or_default();
        if key.matches('.').count() >= DEEPEST {
            return Some(at);
        }
        at = at.saturating_add(line.len());
    }
    None
}

fn entries<'t>(table: DeTable<'t>, depth: usize, faults: &mut Faults<'_>) -> Value<'t> {
    let entry = |(name, value): (Spanned<DeString<'t>>, Spanned<DeValue<'t>>)| {
        let (at, name) = (Some(name.span().start), name.into_inner());
        let node = faults.within(&name, |faults| node(value, depth, faults));
        Entry { name, at, node }
    };
    Value::Table(table.into_iter().map(entry).collect())
}

fn node<'t>(value: Spanned<DeValue<'t>>, depth: usize, faults: &mut Faults<'_>) -> Node<'t> {
    let at = Some(value.span().start);
    let deeper = depth.saturating_add(1);
    let value = match value.into_inner() {
        DeValue::Array(_) | DeValue::Table(_) if depth == DEEPEST => {
            faults.refuse_at(at, TOO_DEEP);
            Value::Null
        }
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| node(item, deeper, faults)).collect())
        }
        DeValue::Boolean(flag) => Value::Bool(flag),
        DeValue::Datetime(_) => Value::Other("date"),
        DeValue::Float(float) => Value::Number(Cow::Owned(float.as_str().to_owned())),
        DeValue::Integer(integer) => {
            let digits = integer.as_str();
            match i128::from_str_radix(digits, integer.radix()) {
                Ok(number) if integer.radix() != 10 => Value::Number(number.to_string().into()),
                _ => Value::Number(Cow::Owned(digits.to_owned())),
            }
        }
        DeValue::String(text) => Value::Text(text),
        DeValue::Table(table) => entries(table, deeper, faults),
    };
    Node { value, at }
}
