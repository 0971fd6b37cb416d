//! This file knows settings that are words: one of a few, yes or no, or free text with a rule.

use std::borrow::Cow;

use crate::fault::Faults;
use crate::keys::Kind;
use crate::node::Node;

/// `true` or `false`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag;

/// One of a few words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneOf<T: 'static>(pub(crate) &'static [(&'static str, T)]);

/// Text that follows a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    pub(crate) words: &'static str,
    /// Why this text is not right.
    pub(crate) check: fn(&str) -> Result<(), &'static str>,
}

impl Kind for Flag {
    type Value = bool;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<bool> {
        faults.take(node, node.as_bool().ok_or_else(|| "must be true or false".into()))
    }

    fn write(&self, flag: &bool) -> Option<Node<'static>> {
        Some(Node::flag(*flag))
    }

    fn words(&self) -> String {
        "true or false".to_owned()
    }

    fn schema(&self) -> Node<'static> {
        Node::table([("type", Node::text("boolean"))])
    }
}

impl<T: Copy + PartialEq> Kind for OneOf<T> {
    type Value = T;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<T> {
        let word = node.as_text().and_then(|text| self.0.iter().find(|(word, _)| *word == text));
        let word = word.map(|(_, value)| *value);
        faults.take(node, word.ok_or_else(|| format!("must be {}", self.words()).into()))
    }

    fn write(&self, value: &T) -> Option<Node<'static>> {
        let word = self.0.iter().find(|(_, known)| known == value);
        word.map(|(word, _)| Node::text(*word))
    }

    fn words(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        match words.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => words.concat(),
        }
    }

    fn schema(&self) -> Node<'static> {
        Node::table([("enum", Node::list(self.0.iter().map(|(word, _)| Node::text(*word))))])
    }
}

impl Text {
    fn parse(self, node: &Node<'_>) -> Result<Box<str>, Cow<'static, str>> {
        let text = node.as_text().ok_or_else(|| format!("must be {}", self.words))?;
        if text.len() > LONGEST || text.chars().any(char::is_control) {
            return Err("must be one line of at most 4096 bytes".into());
        }
        (self.check)(text)?;
        Ok(text.into())
    }
}

impl Kind for Text {
    type Value = Box<str>;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Box<str>> {
        faults.take(node, self.parse(node))
    }

    fn write(&self, text: &Box<str>) -> Option<Node<'static>> {
        Some(Node::text(text.to_string()))
    }

    fn words(&self) -> String {
        self.words.to_owned()
    }

    fn schema(&self) -> Node<'static> {
        Node::table([("type", Node::text("string"))])
    }
}

/// As long as a path may be.
const LONGEST: usize = 4_096;
