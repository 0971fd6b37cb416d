//! This file knows who is to be a member, where several targets have one place.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tokio::sync::Notify;

use super::member::Member;
use super::place::Place;

/// What a member is to be.
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) nudge: Option<Arc<Notify>>,
    pub(super) weight: u32,
}

impl Wanted {
    /// Whether `member` is that already. One at the same address for another target is not: it is
    /// asked for by a name that may be gone, and would have that looked up.
    fn is<S>(&self, member: &Member<S>) -> bool {
        let is_nudged_alike = match (&self.nudge, &member.nudge) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        is_nudged_alike && self.place == member.place && self.weight == member.weight
    }
}

/// All who are to be members, each name once.
pub(super) struct Roster {
    wanted: Vec<Wanted>,
    by_name: HashMap<Arc<str>, usize>,
}

impl Roster {
    /// The first of each name, and no more than `most` of them; but whoever is a member stays one,
    /// as long as any of these is what it is.
    pub(super) fn of<S>(
        all: impl Iterator<Item = Wanted>,
        members: &[Option<Arc<Member<S>>>],
        most: usize,
    ) -> Self {
        let members: HashMap<&str, &Member<S>> =
            members.iter().flatten().map(|member| (&*member.name, &**member)).collect();
        let mut roster = Self { wanted: Vec::new(), by_name: HashMap::new() };
        for wanted in all {
            let is_kept = |wanted: &Wanted| {
                members.get(&*wanted.place.name).is_some_and(|member| wanted.is(member))
            };
            match roster.by_name.entry(Arc::clone(&wanted.place.name)) {
                Entry::Vacant(name) if roster.wanted.len() < most => {
                    name.insert(roster.wanted.len());
                    roster.wanted.push(wanted);
                }
                Entry::Occupied(at) if is_kept(&wanted) => roster.wanted[*at.get()] = wanted,
                Entry::Vacant(_) | Entry::Occupied(_) => {}
            }
        }
        roster
    }

    /// Whether `member` is one of them.
    pub(super) fn keeps<S>(&self, member: &Member<S>) -> bool {
        self.by_name.get(&member.name).is_some_and(|at| self.wanted[*at].is(member))
    }

    /// Those that are not among `members`.
    pub(super) fn missing<S>(mut self, members: &[Option<Arc<Member<S>>>]) -> Vec<Wanted> {
        for member in members.iter().flatten() {
            self.by_name.remove(&member.name);
        }
        self.wanted.retain(|wanted| self.by_name.contains_key(&wanted.place.name));
        self.wanted
    }
}
