//! This file knows how an object of a service config is read: what it has, what it must have, and
//! what nobody here knows.

use std::borrow::Cow;

use crate::SettingsError;
use crate::error::Problem;
use crate::fault::{Faults, Source};
use crate::node::{Entry, Node, Value};

/// What is found while a config is read.
pub(super) struct Findings<'t> {
    /// What refuses it.
    faults: Faults<'t>,
    /// What is worth saying.
    notes: Faults<'t>,
}

impl<'t> Findings<'t> {
    pub(super) const fn new(source: Source<'t>) -> Self {
        Self { faults: Faults::new(source), notes: Faults::new(source) }
    }

    pub(super) const fn faults(&mut self) -> &mut Faults<'t> {
        &mut self.faults
    }

    /// Whatever `read` finds is in the member called `name`.
    pub(super) fn within<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = (self.faults.enter(name), self.notes.enter(name));
        self.read_and_leave(before, read)
    }

    /// Whatever `read` finds is in the item with this number.
    pub(super) fn item<T>(&mut self, number: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = (self.faults.enter_item(number), self.notes.enter_item(number));
        self.read_and_leave(before, read)
    }

    fn read_and_leave<T>(
        &mut self,
        before: (usize, usize),
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let answer = read(self);
        self.faults.leave(before.0);
        self.notes.leave(before.1);
        answer
    }

    /// The value of `node` is wrong.
    pub(super) fn refuse(&mut self, node: &Node<'_>, rule: &'static str) {
        self.faults.refuse(node, rule);
    }

    /// Something is worth saying about the value of `node`.
    pub(super) fn note(&mut self, node: &Node<'_>, said: &'static str) {
        self.notes.refuse(node, said);
    }

    /// Something is worth saying about what stands at a place.
    pub(super) fn note_at(&mut self, at: Option<usize>, said: &'static str) {
        self.notes.refuse_at(at, said);
    }

    /// What is worth saying, and what was read, if nothing refuses it.
    pub(super) fn into_result<T>(self, read: T) -> Result<(T, Vec<Problem>), SettingsError> {
        self.faults.into_result((read, self.notes.into_problems()))
    }
}

/// The members of one object. In protobuf's JSON a member that is `null` is not there.
pub(super) struct Fields<'n, 'f, 't> {
    node: &'n Node<'n>,
    entries: Cow<'n, [Entry<'n>]>,
    known: Vec<&'static str>,
    found: &'f mut Findings<'t>,
}

/// The value of a node, or what would be right.
pub(super) type Parsed<T> = Result<T, Cow<'static, str>>;

impl<'n, 'f, 't> Fields<'n, 'f, 't> {
    pub(super) fn of(node: &'n Node<'n>, found: &'f mut Findings<'t>) -> Option<Self> {
        let Some(entries) = node.as_table() else {
            found.refuse(node, "must be an object");
            return None;
        };
        Some(Self { node, entries, known: Vec::new(), found })
    }

    /// Reads a member with everything in it.
    pub(super) fn with<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Node<'_>, &mut Findings<'t>) -> T,
    ) -> Option<T> {
        self.known.push(name);
        let is_it = |entry: &&Entry<'_>| entry.name == name && entry.node.value != Value::Null;
        let node = &self.entries.iter().find(is_it)?.node;
        Some(self.found.within(name, |found| read(node, found)))
    }

    pub(super) fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Node<'_>) -> Parsed<T>,
    ) -> Option<T> {
        self.with(name, |node, found| found.faults.take(node, parse(node))).flatten()
    }

    pub(super) fn required<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Node<'_>) -> Parsed<T>,
    ) -> Option<T> {
        let read = self.with(name, |node, found| found.faults.take(node, parse(node)));
        if read.is_none() {
            let at = self.node.at;
            self.found.within(name, |found| found.faults.refuse_at(at, "must be given"));
        }
        read.flatten()
    }

    /// Says something about the object as a whole.
    pub(super) fn note_here(&mut self, said: &'static str) {
        self.found.note_at(self.node.at, said);
    }

    /// Refuses what stands at a place in a member.
    pub(super) fn refuse_at(&mut self, name: &str, at: Option<usize>, rule: &'static str) {
        self.found.within(name, |found| found.faults.refuse_at(at, rule));
    }

    /// Says of every member that was not asked for that it is skipped.
    pub(super) fn finish(self) {
        let is_unknown = |entry: &&Entry<'_>| !self.known.contains(&&*entry.name);
        for entry in self.entries.iter().filter(is_unknown) {
            self.found.within(&entry.name, |found| {
                found.note_at(entry.at, "is not known here, and skipped");
            });
        }
    }
}
