//! This file knows settings of more than one value: lists, values by name, and none at all.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::fault::Faults;
use crate::keys::Kind;
use crate::node::{Node, Value};

/// A number or a text, or the word `none`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrNone<K>(pub(crate) K);

/// A value, or nothing; and what it could be, as TOML.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unset<K>(pub(crate) K, pub(crate) &'static str);

/// Any number of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<K> {
    pub(crate) of: K,
    /// Whether none at all is a mistake.
    pub(crate) filled: bool,
}

/// A value for each of some names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByName<K> {
    pub(crate) of: K,
    /// What the names are.
    pub(crate) names: &'static str,
    /// The name as it is kept, or why it is not right.
    pub(crate) name: fn(&str) -> Result<Box<str>, Cow<'static, str>>,
}

impl<K: Kind> Kind for OrNone<K> {
    type Value = Option<K::Value>;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Self::Value> {
        if node.as_text() == Some("none") {
            return Some(None);
        }
        // Such as null, which is none elsewhere: what is wanted inside does not know the word.
        if node.as_text().is_none() && node.as_number().is_none() {
            faults.refuse(node, format!("must be {}", self.words()));
            return None;
        }
        self.0.read(node, faults).map(Some)
    }

    fn write(&self, value: &Self::Value) -> Option<Node<'static>> {
        value.as_ref().map_or_else(|| Some(Node::text("none")), |value| self.0.write(value))
    }

    fn words(&self) -> String {
        format!("{}, or \"none\"", self.0.words())
    }

    fn schema(&self) -> Node<'static> {
        let none = Node::table([("const", Node::text("none"))]);
        Node::table([("anyOf", Node::list([self.0.schema(), none]))])
    }
}

impl<K: Kind> Kind for Unset<K> {
    type Value = Option<K::Value>;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Self::Value> {
        self.0.read(node, faults).map(Some)
    }

    fn write(&self, value: &Self::Value) -> Option<Node<'static>> {
        value.as_ref().and_then(|value| self.0.write(value))
    }

    fn words(&self) -> String {
        self.0.words()
    }

    fn schema(&self) -> Node<'static> {
        self.0.schema()
    }

    fn sample(&self) -> Option<&'static str> {
        Some(self.1)
    }
}

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Self::Value> {
        let Some(items) = node.as_list() else {
            faults.refuse(node, format!("must be {}", self.words()));
            return None;
        };
        if items.is_empty() && self.filled {
            faults.refuse(node, "must not be empty");
            return None;
        }
        let before = faults.count();
        let read = |(number, item)| faults.item(number, |faults| self.of.read(item, faults));
        let values = items.iter().enumerate().filter_map(read).collect();
        (faults.count() == before).then_some(values)
    }

    fn write(&self, values: &Self::Value) -> Option<Node<'static>> {
        Some(Node::list(values.iter().filter_map(|value| self.of.write(value))))
    }

    fn words(&self) -> String {
        format!("a list, each {}", self.of.words())
    }

    fn schema(&self) -> Node<'static> {
        let least = Node::number(u8::from(self.filled));
        let list = [("type", Node::text("array")), ("items", self.of.schema())];
        Node::table(list.into_iter().chain([("minItems", least)]))
    }
}

impl<K: Kind> Kind for ByName<K> {
    type Value = BTreeMap<Box<str>, K::Value>;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Self::Value> {
        let form = faults.form_of_tables();
        let Some(entries) = node.as_table() else {
            faults.refuse(node, format!("must be {}{form}", self.words()));
            return None;
        };
        // A variable for each name cannot be: a variable has no case, and methods and targets do.
        let is_variables = !form.is_empty() && matches!(node.value, Value::Table(_));
        let before = faults.count();
        let mut values = BTreeMap::new();
        for entry in entries.iter() {
            faults.within(&entry.name, |faults| {
                if is_variables {
                    faults.refuse_at(entry.at, format!("there is no such setting{form}"));
                    return;
                }
                let name =
                    (self.name)(&entry.name).map_err(|rule| faults.refuse_at(entry.at, rule));
                let value = self.of.read(&entry.node, faults);
                if let (Ok(name), Some(value)) = (name, value)
                    && values.insert(name, value).is_some()
                {
                    faults.refuse_at(entry.at, "is there twice");
                }
            });
        }
        (faults.count() == before).then_some(values)
    }

    fn write(&self, values: &Self::Value) -> Option<Node<'static>> {
        let entries = values.iter();
        let entries =
            entries.filter_map(|(name, value)| Some((name.to_string(), self.of.write(value)?)));
        Some(Node::table(entries))
    }

    fn words(&self) -> String {
        format!("a table of {} to {}", self.names, self.of.words())
    }

    fn schema(&self) -> Node<'static> {
        let values = ("additionalProperties", self.of.schema());
        Node::table([("type", Node::text("object")), values])
    }
}
