//! This file knows what a table of breakers should do: who gets in, who has to go, and whose
//! result still counts.

mod key;
mod walk;

use core::time::Duration;

use evenkeel_core::{
    BreakerPolicy, BreakerTable, Consecutive, Deadline, Instant, Permit, Snapshot, Verdict, checked,
};

pub use self::walk::any_walk;
pub(super) use self::walk::{any_move, any_start};
use super::ledger::{Ledger, Terms};
use super::rule::Rule;
use crate::ensure;

/// Eight of the units in which a table knows leases, so that edges are met exactly.
pub const TICK: u64 = 8 << 16;

/// A table under test.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The policy of every breaker: opens at the second failure.
    pub policy: BreakerPolicy,
    /// The same in plain numbers.
    pub terms: Terms,
    /// The most permits out at a time.
    pub permits: usize,
}

impl Setting {
    /// Two failures in a row open for two ticks.
    ///
    /// # Panics
    ///
    /// Never: the numbers are in range.
    pub fn two_failures(permits: usize) -> Self {
        let open_for = 2 * TICK;
        let policy = BreakerPolicy::new(checked!(Consecutive::new(2)));
        Self {
            policy: policy.with_open_for(Duration::from_micros(open_for)).expect("in range"),
            terms: Terms { open_for, max_open: open_for, max_trials: 1, successes: 1 },
            permits,
        }
    }
}

/// One move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// Ask the breaker of this key for leave until this much later.
    Admit(u8, Option<u64>),
    /// A permit is lost.
    Lose(usize),
    /// Time passes.
    Pass(u64),
    /// An attempt ends.
    Record(usize, Verdict),
}

/// One step, as anybody can see it.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was done.
    pub to: Move,
    /// What every key showed before; `in_use` says which had an attempt under way.
    pub before: Vec<(u8, Snapshot)>,
    /// The keys whose latest lease had not passed.
    pub in_use: Vec<u8>,
    /// What every key shows.
    pub after: Vec<(u8, Snapshot)>,
    /// For a result: its key, and whether the entry that gave its permit is still there.
    pub gave: Option<(u8, bool)>,
    /// Whether the table is equal to what it was, hidden facts included.
    pub unchanged: bool,
}

/// A permit that is out, as the way to make it again, and the life of the entry that gave it.
#[derive(Clone, Debug)]
struct Ticket<const N: usize> {
    source: BreakerTable<u8, N>,
    now: Instant,
    key: u8,
    lease: Deadline,
    /// The entry's life and its breaker's period; nothing for a permit without an entry.
    given: Option<(u32, u32)>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: u8,
    life: u32,
    used: u32,
    busy_until: u64,
    ledger: Ledger,
}

impl Entry {
    /// Whether no attempt can be under way, as far as units of 2^16 µs can tell.
    fn is_idle(&self, now: u64) -> bool {
        self.busy_until.div_ceil(1 << 16) <= now >> 16
    }
}

/// One state of a table with the permits that are out.
#[derive(Clone, Debug)]
pub struct World<const N: usize> {
    now: u64,
    table: BreakerTable<u8, N>,
    tickets: Vec<Ticket<N>>,
    entries: Vec<Entry>,
    /// Lookups and lives so far.
    lookups: u32,
    untracked: u32,
}

impl<const N: usize> World<N> {
    /// An empty table at `now`.
    pub fn new(now: u64) -> Self {
        let (tickets, entries) = (Vec::new(), Vec::new());
        Self { now, table: BreakerTable::new(), tickets, entries, lookups: 0, untracked: 0 }
    }

    /// The step that `to` is from here and where it leads, if it can be made.
    ///
    /// # Errors
    ///
    /// Where the table does anything else than its rules say.
    pub fn go(&self, setting: &Setting, to: Move) -> Result<Option<(Step, Self)>, String> {
        let mut end = self.clone();
        let mut gave = None;
        match to {
            Move::Admit(..) if self.tickets.len() >= setting.permits => return Ok(None),
            Move::Lose(place) | Move::Record(place, _) if place >= self.tickets.len() => {
                return Ok(None);
            }
            Move::Admit(key, span) => end.admit(setting, key, span)?,
            Move::Lose(place) => drop(end.tickets.remove(place)),
            Move::Pass(span) => end.now += span,
            Move::Record(place, verdict) => gave = Some(end.record(setting, place, verdict)?),
        }
        let in_use = self.entries.iter().filter(|entry| entry.busy_until > self.now);
        let step = Step {
            to,
            before: self.shown(),
            in_use: in_use.map(|entry| entry.key).collect(),
            after: end.shown(),
            gave,
            unchanged: end.table == self.table,
        };
        end.compare().map_err(|fault| format!("{fault}\nin {step:?}"))?;
        Ok(Some((step, end)))
    }

    fn admit(&mut self, setting: &Setting, key: u8, span: Option<u64>) -> Result<(), String> {
        let until = span.map(|span| self.now + span);
        let lease = until.map_or(Deadline::NONE, |at| Deadline::at(Instant::from_micros(at)));
        let now = Instant::from_micros(self.now);
        let source = self.table.clone();
        let place = self.place_for(setting, key);
        let due = match place {
            Some(place) => self.entries[place].ledger.admit(self.now, until),
            None => Ok(()),
        };
        let answer = self.table.admit(now, key, lease, &setting.policy);
        let refused = answer.as_ref().map(drop).map_err(|refused| refused.retry_at.as_micros());
        ensure!(refused == due, "key {key} was answered {answer:?}, due is {due:?}");
        let without_entry = answer.as_ref().is_ok_and(|permit| *permit == Permit::UNTRACKED);
        ensure!(without_entry == place.is_none(), "an entry for {key}: {place:?}, {answer:?}");
        if due.is_ok() {
            let given = place.map(|place| {
                let entry = &mut self.entries[place];
                let end = setting.terms.lease_end(self.now, until);
                entry.busy_until = entry.busy_until.max(end);
                (entry.life, entry.ledger.number)
            });
            self.tickets.push(Ticket { source, now, key, lease, given });
        }
        Ok(())
    }

    /// The entry of `key`, an old one or a new one; none while all protect or are in use.
    fn place_for(&mut self, setting: &Setting, key: u8) -> Option<usize> {
        self.lookups += 1;
        let known = self.entries.iter().position(|entry| entry.key == key);
        let place = known.or_else(|| {
            let rule = Rule::Consecutive { threshold: 2, failures: 0 };
            let ledger = Ledger::new(setting.terms.clone(), rule);
            let entry = Entry { key, life: self.lookups, used: 0, busy_until: 0, ledger };
            if self.entries.len() < N {
                self.entries.push(entry);
                return Some(self.entries.len() - 1);
            }
            let idle = |one: &&Entry| one.is_idle(self.now) && one.ledger.is_closed();
            let clean = |one: &Entry| one.ledger.is_closed_with(0);
            let victim = self.entries.iter().filter(idle).min_by_key(|one| (!clean(one), one.used));
            let victim = victim.map(|victim| victim.life)?;
            let place = self.entries.iter().position(|entry| entry.life == victim)?;
            self.entries[place] = entry;
            Some(place)
        });
        match place {
            Some(place) => self.entries[place].used = self.lookups,
            None => self.untracked += 1,
        }
        place
    }

    fn record(
        &mut self,
        setting: &Setting,
        place: usize,
        verdict: Verdict,
    ) -> Result<(u8, bool), String> {
        let ticket = self.tickets.remove(place);
        let again =
            ticket.source.clone().admit(ticket.now, ticket.key, ticket.lease, &setting.policy);
        let permit = again.expect("it was let out once");
        let now = Instant::from_micros(self.now);
        let changed = self.table.record(now, ticket.key, permit, verdict, &setting.policy);
        let giver = self.entries.iter_mut().find(|entry| {
            entry.key == ticket.key && ticket.given.is_some_and(|given| given.0 == entry.life)
        });
        let lives = giver.is_some();
        let due = match (giver, ticket.given) {
            (Some(entry), Some((_, period))) => {
                entry.ledger.record(self.now, period, verdict, changed)?
            }
            _ => None,
        };
        ensure!(changed == due, "key {} changed {changed:?}, due is {due:?}", ticket.key);
        Ok((ticket.key, lives))
    }

    fn shown(&self) -> Vec<(u8, Snapshot)> {
        let mut shown: Vec<_> = self.table.snapshots().collect();
        shown.sort_by_key(|(key, _)| *key);
        shown
    }

    fn compare(&self) -> Result<(), String> {
        let shown = self.shown();
        ensure!(shown.len() == self.entries.len(), "{} entries are due", self.entries.len());
        ensure!(self.table.len() == shown.len(), "it counts {} entries", self.table.len());
        ensure!(self.table.is_empty() == shown.is_empty(), "it is empty, and not");
        for entry in &self.entries {
            let Some((_, shown)) = shown.iter().find(|(key, _)| *key == entry.key) else {
                return Err(format!("key {} has no entry", entry.key));
            };
            entry.ledger.compare(shown)?;
            let by_key = self.table.get(entry.key).map(|breaker| breaker.snapshot());
            ensure!(by_key == Some(*shown), "key {} finds {by_key:?}", entry.key);
        }
        let untracked = self.table.untracked();
        ensure!(untracked == self.untracked, "{} untracked are due", self.untracked);
        Ok(())
    }
}
