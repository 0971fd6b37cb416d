//! This file knows the JSON Schema of a settings file, for editors and for other tools.

use super::inline;
use crate::Settings;
use crate::keys::{Block, Keys, Kind};
use crate::node::{Entry, Node, Value};

/// The JSON Schema (draft 2020-12) of a settings file.
///
/// Whatever it refuses is refused when it is read as settings, too. That refuses more: what only two
/// settings together make wrong, and bounds that no schema can tell, such as those of spans.
pub fn schema() -> String {
    let Value::Table(mut entries) = object::<Settings>().value else { return String::new() };
    let head = [
        ("$schema", Node::text("https://json-schema.org/draft/2020-12/schema")),
        ("title", Node::text("evenkeel settings")),
    ];
    let head = head.map(|(name, node)| Entry { name: name.into(), at: None, node });
    entries.splice(0..0, head);
    let for_editors = Entry {
        name: "$schema".into(),
        at: None,
        node: Node::table([("type", Node::text("string"))]),
    };
    for entry in &mut entries {
        if let ("properties", Value::Table(properties)) = (&*entry.name, &mut entry.node.value) {
            properties.insert(0, for_editors.clone());
        }
    }
    let mut text = String::new();
    write(&Node::new(Value::Table(entries)), "\n", &mut text);
    text.push('\n');
    text
}

/// A node as JSON: small enough that the schema is there without the feature `json`.
fn write(node: &Node<'_>, line: &str, text: &mut String) {
    let (below, following) = (format!("{line}  "), format!(",{line}  "));
    let mut before = &*below;
    match &node.value {
        Value::Table(entries) if !entries.is_empty() => {
            text.push('{');
            for entry in entries {
                text.push_str(before);
                text.push_str(&format!("{:?}: ", entry.name));
                write(&entry.node, &below, text);
                before = &*following;
            }
            text.push_str(line);
            text.push('}');
        }
        Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Table(_))) => {
            text.push('[');
            for item in items {
                text.push_str(before);
                write(item, &below, text);
                before = &*following;
            }
            text.push_str(line);
            text.push(']');
        }
        // Quotes and numbers are alike in TOML.
        _ => text.push_str(&inline(node)),
    }
}

fn object<B: Block>() -> Node<'static> {
    let mut schema = Schema { properties: Vec::new() };
    B::default().keys(&mut schema);
    Node::table([
        ("description", Node::text(B::MEANING)),
        ("type", Node::text("object")),
        ("properties", Node::table(schema.properties)),
        ("additionalProperties", Node::flag(false)),
    ])
}

struct Schema {
    properties: Vec<(&'static str, Node<'static>)>,
}

impl Keys for Schema {
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        kind: K,
        slot: &mut K::Value,
        meaning: &'static str,
    ) {
        let mut node = kind.schema();
        if let Value::Table(entries) = &mut node.value {
            let entry = |name: &'static str, node| Entry { name: name.into(), at: None, node };
            entries.insert(0, entry("description", Node::text(meaning)));
            entries.extend(kind.write(slot).map(|default| entry("default", default)));
        }
        self.properties.push((name, node));
    }

    fn block<B: Block>(&mut self, name: &'static str, _slot: &mut Option<B>) {
        self.properties.push((name, object::<B>()));
    }
}
