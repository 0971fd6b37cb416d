//! This file knows how TOML is read.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::is_short_enough;
use crate::fault::Faults;
use crate::node::{Entry, Node, Value};

/// The values of a TOML text; `None` and the reasons among the faults if it is none.
pub(crate) fn tree<'t>(text: &'t str, faults: &mut Faults<'_>) -> Option<Node<'t>> {
    if !is_short_enough(text, faults) {
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        // The message alone: what `Display` adds quotes the line, and a line may hold a secret.
        faults.refuse_at(error.span().map(|span| span.start), error.message());
    }
    errors.is_empty().then(|| Node { value: entries(table.into_inner()), at: None })
}

fn entries<'t>(table: DeTable<'t>) -> Value<'t> {
    let entry = |(name, value): (Spanned<DeString<'t>>, Spanned<DeValue<'t>>)| Entry {
        at: Some(name.span().start),
        name: name.into_inner(),
        node: node(value),
    };
    Value::Table(table.into_iter().map(entry).collect())
}

fn node<'t>(value: Spanned<DeValue<'t>>) -> Node<'t> {
    let at = Some(value.span().start);
    let value = match value.into_inner() {
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
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
        DeValue::Table(table) => entries(table),
    };
    Node { value, at }
}
