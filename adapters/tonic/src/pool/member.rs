//! This file knows one member of a pool, and the list of all as one call sees it.

use core::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use evenkeel_tokio::core::{Instant, Target};
use evenkeel_tokio::{AnyRule, Handle};
use portable_atomic::{AtomicBool, AtomicU8, Ordering};
use tokio::sync::Notify;

use super::line::Line;
use super::place::Place;
use crate::error::innermost;
use crate::health::HealthFlag;

/// One place attempts go to.
pub(crate) struct Member<S> {
    pub(crate) name: Arc<str>,
    /// Its place in the list, and nobody else's for as long as it lives.
    pub(crate) target: Target,
    /// Tells it from an earlier member with the same number, or the same name.
    pub(crate) serial: u64,
    pub(crate) line: Arc<Line<S>>,
    /// In thousandths.
    pub(crate) weight: u32,
    /// Its breakers by method of a closed set, from their first call on.
    pub(crate) breakers: Box<[OnceLock<Handle<AnyRule>>]>,
    /// Where a health check asks it.
    pub(crate) place: Place,
    /// Asks for the addresses of its name anew.
    pub(crate) nudge: Option<Arc<Notify>>,
    /// What a checker of ours says of it.
    flag: RwLock<Option<HealthFlag>>,
    /// What somebody else says; a "no" of either stands.
    verdict: AtomicU8,
    /// Whether it still owns its line.
    owns: AtomicBool,
}

/// What a health check said of a member.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Verdict {
    Unknown,
    Healthy,
    Unhealthy,
}

impl Verdict {
    const fn of(healthy: bool) -> Self {
        if healthy { Self::Healthy } else { Self::Unhealthy }
    }
}

/// What a member is made of.
pub(super) struct Parts<S> {
    pub(super) place: Place,
    pub(super) target: Target,
    pub(super) serial: u64,
    pub(super) line: Arc<Line<S>>,
    pub(super) weight: u32,
    pub(super) methods: usize,
    pub(super) nudge: Option<Arc<Notify>>,
}

impl<S> Member<S> {
    pub(super) fn new(parts: Parts<S>) -> Arc<Self> {
        let Parts { place, target, serial, line, weight, methods, nudge } = parts;
        let breakers = (0..methods).map(|_| OnceLock::new()).collect();
        Arc::new(Self {
            name: Arc::clone(&place.name),
            target,
            serial,
            line,
            weight,
            breakers,
            place,
            nudge,
            flag: RwLock::default(),
            verdict: AtomicU8::new(Verdict::Unknown as u8),
            owns: AtomicBool::new(true),
        })
    }

    /// Gives up its line, whose connections are `cut` if it was the last one's.
    pub(super) fn disown(&self, cut: bool) {
        if self.owns.swap(false, Ordering::AcqRel) {
            self.line.disown(cut);
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let told = match self.verdict.load(Ordering::Acquire) {
            0 => Verdict::Unknown,
            1 => Verdict::Healthy,
            // By somebody who knows what no check finds out.
            _ => return Verdict::Unhealthy,
        };
        let checked = self.flag(HealthFlag::is_healthy);
        checked.map_or(told, |healthy| healthy.map_or(Verdict::Unknown, Verdict::of))
    }

    /// What was last heard against it, by a health check or by who dialled it; or who has heard
    /// nothing yet.
    fn last_heard(&self) -> Option<String> {
        let unwell = |flag: &HealthFlag| flag.why().filter(|_| flag.is_healthy() == Some(false));
        let why = self.flag(unwell).flatten().map(|why| why.to_string());
        let why = why.or_else(|| self.line.last_failure().map(|failed| innermost(&failed)));
        why.or_else(|| self.awaited().map(str::to_owned))
    }

    /// What nobody has heard the end of.
    fn awaited(&self) -> Option<&'static str> {
        if self.flag(HealthFlag::is_healthy) == Some(None) {
            return Some("no health check was answered yet");
        }
        self.line.is_making(Instant::MAX).then_some("still connecting")
    }

    /// What its flag says, where it has one.
    fn flag<T>(&self, says: impl FnOnce(&HealthFlag) -> T) -> Option<T> {
        self.flag.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(says)
    }

    /// Has it read `flag` from now on: the one it had may be dead. Whether that is another one.
    pub(crate) fn heed(&self, flag: HealthFlag) -> bool {
        let is_new = self.flag(|own| own.is(&flag)) != Some(true);
        if is_new {
            *self.flag.write().unwrap_or_else(PoisonError::into_inner) = Some(flag);
        }
        is_new
    }

    /// Whether this changes anything.
    pub(super) fn judge(&self, healthy: bool) -> bool {
        let verdict = Verdict::of(healthy);
        self.verdict.swap(verdict as u8, Ordering::AcqRel) != verdict as u8
    }

    /// A connection to it failed, or it was passed over because it is away.
    pub(crate) fn unreachable(&self, now: Instant) {
        self.line.missed(now);
        self.doubted();
    }

    /// It may not be at this address any more.
    pub(crate) fn doubted(&self) {
        if let Some(nudge) = &self.nudge {
            nudge.notify_one();
        }
    }
}

impl<S> Drop for Member<S> {
    /// Not before its last call is over.
    fn drop(&mut self) {
        self.disown(false);
    }
}

impl<S> fmt::Debug for Member<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.name)
            .field("target", &self.target)
            .field("verdict", &self.verdict())
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// Who was a member when somebody looked.
pub(crate) struct List<S> {
    /// By number; that of a member that was removed is nobody's until its last call is over, and
    /// free then.
    pub(crate) slots: Box<[Option<Arc<Member<S>>>]>,
    /// Targets of which no address is known.
    pub(crate) unresolved: Box<[Unresolved]>,
    /// Whether every name and every list was looked up at least once.
    pub(crate) settled: bool,
}

/// A target of which no address is known.
#[derive(Clone)]
pub(crate) struct Unresolved {
    pub(super) name: Arc<str>,
    /// Why its last lookup failed.
    pub(super) why: Option<Arc<str>>,
}

impl<S> List<S> {
    pub(crate) fn members(&self) -> impl Iterator<Item = &Arc<Member<S>>> {
        self.slots.iter().flatten()
    }

    pub(crate) fn get(&self, target: Target) -> Option<&Arc<Member<S>>> {
        self.slots.get(usize::from(target.number()))?.as_ref()
    }

    /// Every member, and every target that has none, each with what was last heard against it.
    pub(crate) fn known(&self) -> impl Iterator<Item = (String, Option<String>)> {
        let members = self.members().map(|member| (member.name.to_string(), member.last_heard()));
        let unresolved = self.unresolved.iter();
        let unresolved = unresolved
            .map(|target| (target.name.to_string(), target.why.as_deref().map(str::to_owned)));
        members.chain(unresolved)
    }
}
