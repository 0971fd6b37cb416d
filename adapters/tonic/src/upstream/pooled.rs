//! This file knows the upstream of one call in a pool: which members its attempts are at, and the
//! breakers there.

use std::sync::Arc;

use evenkeel_tokio::core::{
    BreakerState, Deadline, Instant, Permit, Refusal, Report, Target, Tried,
};
use evenkeel_tokio::{AnyRule, Handle};

use super::warn_of_a_full_table;
use crate::pool::{Member, Pool, Usage};
use crate::settings::{KeyRef, Method, Settings};

/// A pool, as one call uses it.
pub(super) struct Pooled<S> {
    pool: Arc<Pool<S>>,
    /// The attempts under way; nearly always one.
    taken: Option<Taken<S>>,
    more: Vec<Taken<S>>,
    /// Whose breaker refused last.
    refused_by: Option<Arc<str>>,
    found_nobody: bool,
    /// Whether all were there among whom it looked.
    saw_all: bool,
}

/// A member with an attempt at it.
struct Taken<S> {
    target: Target,
    usage: Usage<S>,
    /// Where the member does not keep it. Held until the attempt is booked, so that the table
    /// does not forget it before.
    breaker: Option<Handle<AnyRule>>,
    /// How often the channel it is sent through was asked for calm.
    calmed: u8,
}

impl<S> Pooled<S> {
    pub(super) const fn new(pool: Arc<Pool<S>>) -> Self {
        Self {
            pool,
            taken: None,
            more: Vec::new(),
            refused_by: None,
            found_nobody: false,
            saw_all: false,
        }
    }

    pub(super) const fn pool(&self) -> &Arc<Pool<S>> {
        &self.pool
    }

    pub(super) const fn refused_by(&self) -> Option<&Arc<str>> {
        self.refused_by.as_ref()
    }

    pub(super) const fn found_nobody(&self) -> bool {
        self.found_nobody
    }

    /// Whether there was nobody to be found. Who looked before the members were known has not seen
    /// those who have come since.
    pub(super) const fn nobody_is_there(&self) -> bool {
        self.found_nobody && self.saw_all
    }

    pub(super) const fn is_trying(&self) -> bool {
        self.taken.is_some() || !self.more.is_empty()
    }

    pub(super) fn member(&self, target: Target) -> Option<&Arc<Member<S>>> {
        self.at(target)?.usage.member()
    }

    /// The breaker of an attempt that is under way.
    pub(super) fn breaker(&self, method: &Method, target: Target) -> Option<&Handle<AnyRule>> {
        let taken = self.at(target)?;
        taken.breaker.as_ref().or_else(|| kept(method, taken.usage.member()?))
    }

    /// Chooses a member whose breaker gives leave.
    pub(super) fn admit(
        &mut self,
        settings: &Settings,
        method: &Method,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        self.found_nobody = true;
        let usage = Usage::begin(&self.pool).ok_or(Refusal::NoTarget)?;
        let list = self.pool.list();
        self.saw_all = list.settled;
        let (mut breaker, mut overflowed, mut soonest) = (None, false, Instant::MAX);
        let picked = self.pool.balance.pick(now, &list, tried, |member| {
            let Some((policy, _)) = &settings.breaker else { return Ok(Permit::UNTRACKED) };
            let found = Found::of(settings, method, now, member);
            overflowed |= found.overflowed;
            let Some(handle) = kept(method, member).or(found.handle.as_ref()) else {
                return Ok(Permit::UNTRACKED);
            };
            let answer = handle.admit(now, lease, policy);
            match &answer {
                Ok(_) => breaker = found.handle,
                Err(rejected) if self.refused_by.is_none() || rejected.retry_at < soonest => {
                    soonest = rejected.retry_at;
                    self.refused_by = Some(Arc::clone(&member.name));
                }
                Err(_) => {}
            }
            answer
        });
        if overflowed {
            warn_of_a_full_table(settings);
        }
        self.found_nobody = matches!(picked, Err(Refusal::NoTarget));
        let (target, permit) = picked?;
        let member = list.get(target).ok_or(Refusal::NoTarget)?;
        self.put(Taken { target, usage: usage.of(member), breaker, calmed: 0 });
        Ok((target, permit))
    }

    /// Books the end of an attempt on its member, and lets go of it.
    pub(super) fn record(&mut self, now: Instant, target: Target, report: &Report) {
        let Some(taken) = self.take(target) else { return };
        if let Some(member) = taken.usage.member() {
            self.pool.balance.record(now, member, report);
        }
    }

    /// The server asked the connection of an attempt for calm.
    pub(super) fn calm_down(&self, target: Target) {
        if let Some(taken) = self.at(target)
            && let Some(member) = taken.usage.member()
        {
            member.line.calm_down(taken.calmed);
        }
    }

    fn at(&self, target: Target) -> Option<&Taken<S>> {
        self.taken.iter().chain(&self.more).find(|taken| taken.target == target)
    }

    fn put(&mut self, taken: Taken<S>) {
        match self.taken {
            None => self.taken = Some(taken),
            Some(_) => self.more.push(taken),
        }
    }

    fn take(&mut self, target: Target) -> Option<Taken<S>> {
        if let Some(taken) = self.taken.take_if(|taken| taken.target == target) {
            return Some(taken);
        }
        let at = self.more.iter().position(|taken| taken.target == target)?;
        Some(self.more.swap_remove(at))
    }
}

impl<S: Clone + Send + 'static> Pooled<S> {
    /// The channel that the attempt at `target` is sent through.
    pub(super) fn service(&mut self, target: Target) -> Option<S> {
        let mut taken = self.taken.iter_mut().chain(&mut self.more);
        let taken = taken.find(|taken| taken.target == target)?;
        let (service, calmed) = taken.usage.member()?.line.service();
        taken.calmed = calmed;
        Some(service)
    }
}

/// A breaker that was looked up, because the member does not keep it.
struct Found {
    handle: Option<Handle<AnyRule>>,
    overflowed: bool,
}

impl Found {
    fn of<S>(settings: &Settings, method: &Method, now: Instant, member: &Member<S>) -> Self {
        let Some((_, table)) = settings.breaker.as_ref().filter(|_| kept(method, member).is_none())
        else {
            return Self { handle: None, overflowed: false };
        };
        let lookup = table.lookup(now, &KeyRef { target: &member.name, method: &method.path });
        if let (Some(place), Some(handle)) = (place(method, member), &lookup.handle) {
            _ = place.set(handle.clone());
        }
        Self { handle: lookup.handle, overflowed: lookup.overflowed }
    }
}

/// The breaker `member` keeps for `method`, from its first call on.
fn kept<'a, S>(method: &Method, member: &'a Member<S>) -> Option<&'a Handle<AnyRule>> {
    place(method, member)?.get()
}

fn place<'a, S>(
    method: &Method,
    member: &'a Member<S>,
) -> Option<&'a std::sync::OnceLock<Handle<AnyRule>>> {
    member.breakers.get(method.number?)
}

/// Tells which members the calls of one method can use.
pub(crate) struct Usable {
    settings: Arc<Settings>,
    method: Arc<Method>,
}

impl Usable {
    pub(super) fn new(settings: &Arc<Settings>, method: &Arc<Method>) -> Self {
        Self { settings: Arc::clone(settings), method: Arc::clone(method) }
    }

    /// Whether the circuit of `member` is closed, as far as a look from outside tells.
    pub(crate) fn is<S>(&self, member: &Member<S>) -> bool {
        let Some((_, table)) = &self.settings.breaker else { return true };
        let shown = match kept(&self.method, member) {
            Some(breaker) => Some(breaker.snapshot()),
            None => {
                let key = KeyRef { target: &member.name, method: &self.method.path };
                table.get(&key).map(|breaker| breaker.snapshot())
            }
        };
        shown.is_none_or(|shown| {
            matches!(shown.state, BreakerState::Closed | BreakerState::ForcedClosed)
        })
    }
}
