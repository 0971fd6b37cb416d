//! This file knows how a tree of values becomes settings.

use evenkeel_core::Invalid;

use crate::Settings;
use crate::fault::Faults;
use crate::keys::{Block, Keys, Kind};
use crate::names::{LONGEST_NAME, nearest, path_of, rule_of};
use crate::node::{Entry, Node, Value};
use crate::renamed;

/// Reads what `node` says about a block; what it does not mention stays as it is.
pub(crate) fn read<B: Block>(block: &mut B, node: &Node<'_>, faults: &mut Faults<'_>) {
    let Value::Table(entries) = &node.value else {
        let rule = match node.value {
            Value::Words(_) => {
                let variable = faults.shown(faults.path());
                format!("is a table of settings: write a variable for each, {variable}__…")
            }
            _ => "must be a table of settings".to_owned(),
        };
        faults.refuse(node, rule);
        return;
    };
    let before = faults.count();
    let mut reader = Reader { entries, known: Vec::new(), faults };
    block.keys(&mut reader);
    reader.refuse_unknown();
    // Values that were refused are not there to be compared with others.
    if faults.count() == before
        && let Err(invalid) = block.check()
    {
        refuse_together(&invalid, node, entries, faults);
    }
}

struct Reader<'r, 't, 'f> {
    entries: &'r [Entry<'r>],
    known: Vec<&'static str>,
    faults: &'f mut Faults<'t>,
}

impl Keys for Reader<'_, '_, '_> {
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        kind: K,
        slot: &mut K::Value,
        _meaning: &'static str,
    ) {
        self.known.push(name);
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else { return };
        if let Some(value) = self.faults.within(name, |faults| kind.read(&entry.node, faults)) {
            *slot = value;
        }
    }

    fn block<B: Block>(&mut self, name: &'static str, slot: &mut Option<B>) {
        self.known.push(name);
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else { return };
        let block = slot.get_or_insert_default();
        self.faults.within(name, |faults| read(block, &entry.node, faults));
    }
}

impl Reader<'_, '_, '_> {
    fn refuse_unknown(self) {
        let Self { entries, known, faults } = self;
        for entry in entries.iter().filter(|entry| !known.contains(&&*entry.name)) {
            faults.within(&entry.name, |faults| {
                let name = if faults.is_full() { None } else { plain(&entry.name) };
                let hint = name.as_deref().and_then(|name| suggestion(name, &known, faults));
                refuse_name(entry, hint, faults);
                if let Some(path) = name.and_then(|_| renamed::ours(&plain_path(faults))) {
                    Settings::default().keys(&mut AsIf { path, node: &entry.node, faults });
                }
            });
        }
    }
}

/// Reads a value as that of the setting with this path, in which it should be: whoever brings a file
/// from elsewhere is told at once what is wrong with its names and what with its values.
struct AsIf<'p, 'n, 't, 'f> {
    path: &'p str,
    node: &'n Node<'n>,
    faults: &'f mut Faults<'t>,
}

impl Keys for AsIf<'_, '_, '_, '_> {
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        kind: K,
        _slot: &mut K::Value,
        _meaning: &'static str,
    ) {
        if self.path == name {
            kind.read(self.node, self.faults);
        }
    }

    fn block<B: Block>(&mut self, name: &'static str, _slot: &mut Option<B>) {
        match self.path.strip_prefix(name) {
            Some("") => read(&mut B::default(), self.node, self.faults),
            Some(rest) => {
                let Some(path) = rest.strip_prefix('.') else { return };
                let (node, faults) = (self.node, &mut *self.faults);
                B::default().keys(&mut AsIf { path, node, faults });
            }
            None => {}
        }
    }
}

fn refuse_name(entry: &Entry<'_>, hint: Option<String>, faults: &mut Faults<'_>) {
    let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
    faults.refuse_at(entry.at, format!("there is no such setting{hint}"));
}

fn refuse_together(
    invalid: &Invalid,
    node: &Node<'_>,
    entries: &[Entry<'_>],
    faults: &mut Faults<'_>,
) {
    let path = path_of(invalid);
    let key = path.rsplit_once('.').map_or(path, |(_, key)| key);
    let rule = rule_of(invalid);
    faults.within(key, |faults| match entries.iter().find(|entry| entry.name == key) {
        Some(entry) => faults.refuse(&entry.node, rule),
        // It is at its default, or was said before.
        None => {
            let value = format!("{}{}", invalid.value(), invalid.unit());
            faults.refuse(&Node { at: node.at, ..Node::number(value) }, rule);
        }
    });
}

/// What somebody who wrote `name` may have meant.
fn suggestion(name: &str, known: &[&'static str], faults: &Faults<'_>) -> Option<String> {
    if let Some(hint) = renamed::hint(&plain_path(faults)) {
        return Some(hint);
    }
    // What a section is about, such as `timeout` in `[timeout]`, is its default.
    let is_section = faults.path().split_once('.').is_some_and(|(section, key)| section == key);
    if is_section && known.contains(&"default") {
        return Some("did you mean default?".to_owned());
    }
    if let longer @ ([_] | [_, _]) = &*longer(name, known) {
        return Some(format!("did you mean {}?", longer.join(" or ")));
    }
    // The same word in another section is nearer than another word in this one.
    let elsewhere = Settings::paths();
    if let Some(path) = flattened(faults.path(), &elsewhere) {
        return Some(format!("did you mean {}?", faults.shown(path)));
    }
    let same = |path: &&String| path.rsplit_once('.').is_some_and(|(_, key)| key == name);
    if !known.contains(&name)
        && let Some(path) = elsewhere.iter().find(same)
    {
        return Some(format!("did you mean {path}?"));
    }
    if let Some(nearest) = nearest(name, known.iter().copied()) {
        return Some(format!("did you mean {nearest}?"));
    }
    Some(format!("there are: {}", known.join(", ")))
}

/// The keys of this section that are `name` with words before it: `check_interval` of `interval`.
fn longer(name: &str, known: &[&'static str]) -> Vec<&'static str> {
    let is_end = |key: &str| key.strip_suffix(name).is_some_and(|start| start.ends_with('_'));
    known.iter().copied().filter(|key| !name.is_empty() && is_end(key)).collect()
}

/// The setting whose sections and key were run together: `retry_max_attempts`, and in the environment
/// `EVENKEEL__RETRY_MAX_ATTEMPTS`, where one underscore is missing.
fn flattened<'p>(written: &str, paths: &'p [String]) -> Option<&'p String> {
    let written = written.to_ascii_lowercase().replace('-', "_");
    let flat = |path: &str| path.replace('.', "_");
    let is_meant = |path: &&String| **path != written && flat(path) == flat(&written);
    paths.iter().find(is_meant)
}

/// The path that is read, as settings are named.
fn plain_path(faults: &Faults<'_>) -> String {
    faults.path().to_ascii_lowercase().replace('-', "_")
}

/// A name as settings are named; none if it is too long to be one.
fn plain(name: &str) -> Option<String> {
    (name.len() <= LONGEST_NAME).then(|| name.to_ascii_lowercase().replace('-', "_"))
}
