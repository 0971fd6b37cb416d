//! This file knows who is a member: the targets that were asked for, the addresses of their names,
//! and what changes when either does.

use core::net::SocketAddr;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use evenkeel_tokio::core::{Micros, Target};
use tokio::sync::Notify;

use super::line::Line;
use super::lookup::{self, Name};
use super::member::{List, Member, Parts, Unresolved};
use super::place::Place;
use super::resolve::{Resolve, SystemResolver};
use super::task::Task;
use super::wanted::{Roster, Wanted};
use super::{Pool, Weights};
use crate::BuildError;
use crate::observe::Subchannel;
use crate::target::{Host, TargetName};
use crate::warn::named;

/// Makes the channel to a place.
pub(super) type Lines<S> = Box<dyn Fn(&Place) -> Result<Arc<Line<S>>, BuildError> + Send + Sync>;

/// The members of a pool, and where they come from.
pub(super) struct Directory<S> {
    lines: Lines<S>,
    /// Whose members they are, for the log.
    pub(super) upstream: Arc<str>,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) weights: Weights,
    /// Who counts the members' connections.
    pub(super) counts: Option<Arc<Subchannel>>,
    /// How many breakers a member keeps, and how many members do.
    methods: usize,
    keepers: usize,
    lookup_limit: Micros,
    /// Whether the targets themselves have come.
    told: bool,
    sources: Vec<Source>,
    slots: Vec<Option<Arc<Member<S>>>>,
    /// Removed, but calls to them may still be under way, and each has its number until then: by
    /// that a call tells its attempts apart.
    draining: Vec<(Target, Weak<Member<S>>)>,
    serial: u64,
}

/// A target that was asked for, and its members.
struct Source {
    /// As it is written out.
    name: Arc<str>,
    /// `None`: a service that was given.
    target: Option<TargetName>,
    places: Vec<Place>,
    lookup: Option<Lookup>,
}

/// The name of a source whose addresses are members.
struct Lookup {
    host: Arc<str>,
    port: u16,
    nudge: Arc<Notify>,
    answered: bool,
    /// Why the last one failed.
    why: Option<Arc<str>>,
    task: Option<Task>,
}

impl<S> Directory<S> {
    /// Of nobody yet; a lookup may take as long as a dial may, `lookup_limit`.
    pub(super) fn new(lines: Lines<S>, lookup_limit: Micros) -> Self {
        Self {
            lines,
            upstream: Arc::default(),
            resolver: Arc::new(SystemResolver),
            weights: Weights::default(),
            counts: None,
            methods: 0,
            keepers: 0,
            lookup_limit,
            told: false,
            sources: Vec::new(),
            slots: Vec::new(),
            draining: Vec::new(),
            serial: 0,
        }
    }

    /// Asks for these targets, instead of those so far. What is in both is not touched.
    pub(super) fn ask_for(&mut self, targets: impl IntoIterator<Item = TargetName>) {
        self.told = true;
        let sources = core::mem::take(&mut self.sources).into_iter();
        let mut before: HashMap<_, _> =
            sources.filter_map(|source| Some((source.target.clone()?, source))).collect();
        let mut seen = HashSet::new();
        for target in targets {
            if seen.len() >= MOST_MEMBERS {
                let used = MOST_MEMBERS;
                tracing::warn!(
                    target: "evenkeel",
                    upstream = named(&self.upstream),
                    used,
                    "a pool was given more targets than it takes; the others are not used",
                );
                break;
            }
            if seen.insert(target.clone()) {
                let known = before.remove(&target);
                self.sources.push(known.unwrap_or_else(|| Source::new(target)));
            }
        }
    }

    /// Nobody else will name targets. Whether somebody has.
    pub(super) const fn settle(&mut self) -> bool {
        core::mem::replace(&mut self.told, true)
    }

    /// The members are these services and no others.
    pub(super) fn fix(&mut self, names: Vec<Arc<str>>) {
        self.told = true;
        self.sources = names.into_iter().map(Source::given).collect();
    }

    /// Lets members keep breakers for so many methods, as long as all together are no more than
    /// `room`: what is kept cannot be evicted from the table.
    pub(super) fn keep_breakers(&mut self, methods: usize, room: usize) {
        self.methods = methods;
        self.keepers = room.checked_div(methods).unwrap_or(0);
    }

    /// The addresses of a name that was asked for, or why they could not be found.
    pub(super) fn answer(&mut self, target: &TargetName, addresses: Result<&[SocketAddr], &str>) {
        let is_it = |source: &&mut Source| source.target.as_ref() == Some(target);
        let Some(source) = self.sources.iter_mut().find(is_it) else { return };
        if let Some(lookup) = &mut source.lookup {
            lookup.answered = true;
            lookup.why = addresses.err().map(Arc::from);
        }
        if let Ok(addresses) = addresses {
            source.places = addresses.iter().map(|at| Place::at(target, *at)).collect();
        }
    }

    /// Whether a name waits for somebody to look it up.
    pub(super) fn has_idle_lookups(&self) -> bool {
        self.sources.iter().filter_map(|source| source.lookup.as_ref()).any(Lookup::is_idle)
    }

    /// Brings the members up to date.
    pub(super) fn list(&mut self) -> List<S> {
        let all = self.sources.iter().flat_map(|source| {
            let nudge = source.lookup.as_ref().map(|lookup| Arc::clone(&lookup.nudge));
            let weight = self.weights.of(&source.name);
            source.places.iter().map(move |place| {
                let (place, nudge) = (place.clone(), nudge.clone());
                Wanted { place, nudge, weight }
            })
        });
        let roster = Roster::of(all, &self.slots, MOST_MEMBERS);
        for slot in &mut self.slots {
            if let Some(member) = slot.take_if(|member| !roster.keeps(member)) {
                self.draining.push((member.target, Arc::downgrade(&member)));
            }
        }
        self.draining.retain(|(_, member)| member.strong_count() > 0);
        let wanted = roster.missing(&self.slots);
        for (number, wanted) in self.free(wanted.len()).into_iter().zip(wanted) {
            self.add(number, wanted);
        }
        while self.slots.last().is_some_and(Option::is_none) {
            self.slots.pop();
        }
        self.snapshot()
    }

    /// Nobody from now on. Answers those whose calls may still be under way.
    pub(super) fn clear(&mut self) -> Vec<Arc<Member<S>>> {
        self.sources.clear();
        let members = self.slots.drain(..).flatten();
        members.chain(self.draining.drain(..).filter_map(|(_, member)| member.upgrade())).collect()
    }

    /// So many numbers for new members, the lowest first.
    ///
    /// Should those whose calls do not end have all 65,535, one of theirs is given away: a member
    /// is worth more than knowing apart the attempts of a call that was at both.
    fn free(&self, count: usize) -> Vec<u16> {
        let draining: HashSet<u16> =
            self.draining.iter().map(|(target, _)| target.number()).collect();
        let is_empty =
            |number: &u16| !matches!(self.slots.get(usize::from(*number)), Some(Some(_)));
        let empty = || (0..u16::MAX).filter(is_empty);
        let free = empty().filter(|number| !draining.contains(number));
        free.chain(empty().filter(|number| draining.contains(number))).take(count).collect()
    }

    fn add(&mut self, number: u16, wanted: Wanted) {
        let Wanted { place, nudge, weight } = wanted;
        let line = match (self.lines)(&place) {
            Ok(line) => line,
            Err(error) => {
                let (upstream, member) = (named(&self.upstream), &*place.name);
                tracing::warn!(
                    target: "evenkeel", upstream, member, %error, "a target cannot be dialled",
                );
                return;
            }
        };
        line.counted_by(self.counts.as_ref());
        let (target, at) = (Target::new(number), usize::from(number));
        self.serial += 1;
        let kept = self.slots.iter().flatten().filter(|member| !member.breakers.is_empty());
        let methods = if kept.count() < self.keepers { self.methods } else { 0 };
        let member =
            Member::new(Parts { place, target, serial: self.serial, line, weight, methods, nudge });
        if at >= self.slots.len() {
            self.slots.resize(at + 1, None);
        }
        self.slots[at] = Some(member);
    }

    pub(super) fn snapshot(&self) -> List<S> {
        let lookups = || self.sources.iter().filter_map(|source| source.lookup.as_ref());
        let without = self.sources.iter().filter(|source| source.places.is_empty());
        List {
            slots: self.slots.clone().into(),
            unresolved: without.map(Source::unresolved).collect(),
            settled: self.told && lookups().all(|lookup| lookup.answered),
        }
    }
}

impl<S: Clone + Send + 'static> Directory<S> {
    /// Has the names looked up that nobody looks up yet; needs a runtime.
    pub(super) fn look_up(&mut self, pool: &Weak<Pool<S>>) {
        for source in &mut self.sources {
            let (Some(target), Some(lookup)) = (&source.target, &mut source.lookup) else {
                continue;
            };
            if !lookup.is_idle() {
                continue;
            }
            let name = Name {
                upstream: Arc::clone(&self.upstream),
                target: target.clone(),
                host: Arc::clone(&lookup.host),
                port: lookup.port,
                resolver: Arc::clone(&self.resolver),
                nudge: Arc::clone(&lookup.nudge),
                limit: self.lookup_limit,
            };
            lookup.task = Task::spawn(lookup::keep(Weak::clone(pool), name));
        }
    }
}

impl Lookup {
    /// Whether nobody looks the name up, or whoever did has ended with the runtime.
    fn is_idle(&self) -> bool {
        self.task.as_ref().is_none_or(Task::is_finished)
    }
}

impl Source {
    fn new(target: TargetName) -> Self {
        let places: Vec<Place> = Place::of(&target).into_iter().collect();
        let lookup = match &target {
            TargetName::Dns { host: Host::Name(host), port } => Some(Lookup {
                host: Arc::clone(host),
                port: *port,
                nudge: Arc::default(),
                answered: false,
                why: None,
                task: None,
            }),
            _ => None,
        };
        Self { name: target.to_string().into(), target: Some(target), places, lookup }
    }

    fn unresolved(&self) -> Unresolved {
        let why = self.lookup.as_ref().and_then(|lookup| lookup.why.clone());
        Unresolved { name: Arc::clone(&self.name), why }
    }

    fn given(name: Arc<str>) -> Self {
        let places = vec![Place::given(&name)];
        Self { name, target: None, places, lookup: None }
    }
}

/// Far more than one process keeps connections to; a discovery that says more is mistaken.
const MOST_MEMBERS: usize = 4_096;
