//! This file knows who should be called: worked out from what was done to the machines, the names
//! and the checker, and from nothing the client says.

use std::collections::{BTreeMap, BTreeSet};

use super::FIXED;
use super::machine::Mood;

/// The world as it is, and what a client should make of it once it has had time.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// A machine that is not named is gone.
    pub(super) moods: BTreeMap<String, Mood>,
    /// Members.
    pub(super) listed: BTreeSet<String>,
    /// What was found out about them.
    pub(super) verdicts: BTreeMap<String, bool>,
    /// Whether the checker runs.
    pub(super) checks: bool,
}

impl Model {
    /// Time has passed, and these are the members.
    ///
    /// Who is no member any more is forgotten, also if it becomes one again; a checker that is
    /// stopped learns nothing and forgets nothing else.
    pub(super) fn settle(&mut self, listed: BTreeSet<String>) {
        self.verdicts.retain(|name, _| listed.contains(name));
        self.listed = listed;
        if self.checks {
            for name in &self.listed {
                let serving = self.mood(name) == Mood::Serving;
                self.verdicts.insert(name.clone(), serving);
            }
        }
    }

    pub(super) fn mood(&self, name: &str) -> Mood {
        self.moods.get(name).copied().unwrap_or(Mood::Gone)
    }

    pub(super) fn answers(&self, name: &str) -> bool {
        self.mood(name) != Mood::Gone
    }

    /// Members of which something good is known, and nothing worse since.
    pub(super) fn eligible(&self) -> BTreeSet<String> {
        let healthy = |name: &&String| self.verdicts.get(*name) == Some(&true);
        self.listed.iter().filter(healthy).cloned().collect()
    }

    /// Those of them that are there: all of them get calls, and nobody else.
    pub(super) fn called(&self) -> BTreeSet<String> {
        self.eligible().into_iter().filter(|name| self.answers(name)).collect()
    }

    /// Whether there is a reason to look the names up again: a member at one of their addresses that
    /// is known to be unwell, or that calls go to in vain.
    pub(super) fn doubts(&self) -> bool {
        self.listed.iter().filter(|name| *name != FIXED).any(|name| match self.verdicts.get(name) {
            Some(healthy) => !healthy || !self.answers(name),
            None => false,
        })
    }

    /// Who may have been called on the way from `before` to here: a member then or now that is
    /// there, and of which something good was known before or is to be found now.
    pub(super) fn possible(&self, before: &Self) -> BTreeSet<String> {
        let members = before.listed.union(&self.listed).filter(|name| self.answers(name));
        let good = |name: &&String| {
            before.verdicts.get(*name) == Some(&true)
                || self.checks && self.mood(name) == Mood::Serving
        };
        members.filter(good).cloned().collect()
    }
}
