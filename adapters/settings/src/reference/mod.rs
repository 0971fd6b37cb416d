//! What a settings file may say, for people, for editors, and to begin with.
//!
//! All three are made from the one list of settings that is also read and written, so that none of
//! them can say otherwise than the code does.

mod example;
mod page;
mod schema;

pub use example::example;
pub use page::page;
pub use schema::schema;

use crate::fault::is_bare;
use crate::node::{Entry, Node, Value};

/// A value as TOML writes it in one line.
pub(crate) fn inline(node: &Node<'_>) -> String {
    match &node.value {
        Value::Bool(flag) => flag.to_string(),
        Value::List(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Number(number) => number.to_string(),
        Value::Table(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Table(entries) => {
            let entry = |entry: &Entry<'_>| {
                let quotes = if is_bare(&entry.name) { "" } else { "\"" };
                format!("{quotes}{}{quotes} = {}", entry.name, inline(&entry.node))
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Text(text) => format!("{text:?}"),
        Value::Null | Value::Other(_) | Value::Words(_) => String::new(),
    }
}
