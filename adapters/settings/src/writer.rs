//! This file knows how settings become a tree of values again, and the list of their paths.

use crate::keys::{Block, Keys, Kind};
use crate::node::{Entry, Node, Value};

/// Everything a block says, what is left at its default included.
pub(crate) fn write<B: Block>(block: &mut B) -> Node<'static> {
    let mut writer = Writer { entries: Vec::new() };
    block.keys(&mut writer);
    Node::new(Value::Table(writer.entries))
}

struct Writer {
    entries: Vec<Entry<'static>>,
}

impl Writer {
    fn add(&mut self, name: &'static str, node: Node<'static>) {
        self.entries.push(Entry { name: name.into(), at: None, node });
    }
}

impl Keys for Writer {
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        kind: K,
        slot: &mut K::Value,
        _meaning: &'static str,
    ) {
        if let Some(node) = kind.write(slot) {
            self.add(name, node);
        }
    }

    fn block<B: Block>(&mut self, name: &'static str, slot: &mut Option<B>) {
        if let Some(block) = slot {
            self.add(name, write(block));
        }
    }
}

/// The paths of all settings of a block.
pub(crate) fn paths<B: Block>() -> Vec<String> {
    let mut lister = Lister { prefix: String::new(), paths: Vec::new() };
    B::default().keys(&mut lister);
    lister.paths
}

struct Lister {
    prefix: String,
    paths: Vec<String>,
}

impl Keys for Lister {
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        _kind: K,
        _slot: &mut K::Value,
        _meaning: &'static str,
    ) {
        self.paths.push(format!("{}{name}", self.prefix));
    }

    fn block<B: Block>(&mut self, name: &'static str, _slot: &mut Option<B>) {
        let outer = self.prefix.len();
        self.prefix.push_str(name);
        self.prefix.push('.');
        B::default().keys(self);
        self.prefix.truncate(outer);
    }
}
