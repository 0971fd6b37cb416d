//! The table against the plainest list that keeps its laws, step by step.

use core::time::Duration;

use evenkeel_std::Handle;
use evenkeel_std::core::{
    BreakerState, CircuitBreaker, Deadline, Instant, Micros, Snapshot, Verdict,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::{PATIENT, Table, table};

const MAX: usize = 3;
const TTL: Micros = Micros::from_millis(60_000);

#[test]
fn it_is_a_list_in_the_order_of_use() {
    let turned_away = core::cell::Cell::new(0);
    let config = Config { failure_persistence: None, ..Config::default() };
    let scripts = prop::collection::vec(any::<u32>(), 300);
    let every_step = |script: Vec<u32>| {
        let mut both = Both {
            table: table(MAX).with_idle_ttl(Duration::from_secs(60)).unwrap(),
            list: List { entries: Vec::new(), swept_at: Instant::ZERO, untracked: 0 },
            held: Vec::new(),
            now: Instant::ZERO,
        };
        for random in script {
            both.step(random);
            both.look_alike();
        }
        turned_away.set(turned_away.get() + both.table.untracked());
        Ok(())
    };
    TestRunner::new(config).run(&scripts, every_step).unwrap();
    assert!(turned_away.get() > 0, "the scripts must get to four times its size");
}

struct Both {
    table: Table,
    list: List,
    held: Vec<(String, Handle)>,
    now: Instant,
}

impl Both {
    fn step(&mut self, random: u32) {
        let (kind, argument) = (random % 16, random >> 8);
        let key = format!("{}", argument % 16);
        match kind {
            0..6 => drop(self.look_up(&key)),
            6 => {
                if let Some(handle) = self.look_up(&key) {
                    self.list.entry(&key).unwrap().held += 1;
                    self.held.push((key, handle));
                }
            }
            7 => {
                if let Some(index) = (argument as usize).checked_rem(self.held.len()) {
                    let (key, _) = self.held.swap_remove(index);
                    self.list.entry(&key).unwrap().held -= 1;
                }
            }
            8..11 => self.attempt(&key, Some(Verdict::Failure)),
            11 => self.attempt(&key, Some(Verdict::Success)),
            12 => self.attempt(&key, None),
            13 => {
                if let Some(breaker) = self.table.get(key.as_str()) {
                    let reset = argument % 3 == 0;
                    let plain = &mut self.list.entry(&key).unwrap().breaker;
                    let changed = if reset { plain.reset() } else { plain.force_open() };
                    assert_eq!(changed, if reset { breaker.reset() } else { breaker.force_open() });
                }
            }
            _ => self.now = self.now + Micros::from_millis((argument % 30_000).into()),
        }
    }

    fn look_up(&mut self, key: &str) -> Option<Handle> {
        let found = self.table.lookup(self.now, key).handle;
        assert_eq!(found.is_some(), self.list.look_up(self.now, key), "{key}");
        found
    }

    /// Without a use; `None` is a trial that is lost.
    fn attempt(&mut self, key: &str, verdict: Option<Verdict>) {
        let Some(breaker) = self.table.get(key) else { return };
        let plain = &mut self.list.entry(key).unwrap().breaker;
        let theirs = plain.admit(self.now, Deadline::NONE, &PATIENT);
        let ours = breaker.admit(self.now, Deadline::NONE, &PATIENT);
        assert_eq!(theirs, ours);
        if let (Ok(theirs), Ok(ours), Some(verdict)) = (theirs, ours, verdict) {
            let changed = plain.record(self.now, theirs, verdict, &PATIENT);
            assert_eq!(changed, breaker.record(self.now, ours, verdict, &PATIENT));
        }
    }

    fn look_alike(&self) {
        let by_key = |a: &(String, Snapshot), b: &(String, Snapshot)| a.0.cmp(&b.0);
        let mut found = self.table.snapshots();
        found.sort_by(by_key);
        let mut expected: Vec<_> = self.list.entries.iter().map(Entry::snapshot).collect();
        expected.sort_by(by_key);
        assert_eq!(found, expected);
        assert_eq!(
            (self.table.len(), self.table.untracked()),
            (expected.len(), self.list.untracked)
        );
    }
}

/// From the least to the most recently used.
struct List {
    entries: Vec<Entry>,
    swept_at: Instant,
    untracked: u64,
}

struct Entry {
    key: String,
    breaker: CircuitBreaker,
    used_at: Instant,
    held: usize,
}

impl List {
    fn look_up(&mut self, now: Instant, key: &str) -> bool {
        if now.since(self.swept_at) >= TTL {
            self.forget_idle(now);
        }
        let known = self.entries.iter().position(|entry| entry.key == key);
        let known = known.map(|index| self.entries.remove(index));
        let mut entry = known.filter(|entry| !entry.is_forgotten(now)).unwrap_or_else(|| Entry {
            key: key.into(),
            breaker: CircuitBreaker::new(),
            used_at: Instant::MAX,
            held: 0,
        });
        if entry.used_at == Instant::MAX {
            self.make_room(now);
            if self.entries.len() >= 4 * MAX {
                self.untracked += 1;
                return false;
            }
        }
        entry.used_at = now;
        self.entries.push(entry);
        true
    }

    fn make_room(&mut self, now: Instant) {
        if self.entries.len() >= MAX {
            self.forget_idle(now);
        }
        while self.entries.len() >= MAX {
            let evictable =
                |entry: &Entry| entry.held == 0 && entry.breaker.state() == BreakerState::Closed;
            let clean = |entry: &Entry| evictable(entry) && entry.breaker.is_clean();
            let victim = self.entries.iter().position(clean);
            let Some(victim) = victim.or_else(|| self.entries.iter().position(evictable)) else {
                return;
            };
            self.entries.remove(victim);
        }
    }

    fn forget_idle(&mut self, now: Instant) {
        self.swept_at = now;
        self.entries.retain(|entry| !entry.is_forgotten(now));
    }

    fn entry(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

impl Entry {
    fn is_forgotten(&self, now: Instant) -> bool {
        let snapshot = self.breaker.snapshot();
        let protects = match snapshot.state {
            BreakerState::Closed => false,
            BreakerState::Open => now < snapshot.retry_at.unwrap(),
            _ => true,
        };
        self.held == 0 && !protects && now.since(self.used_at) >= TTL
    }

    fn snapshot(&self) -> (String, Snapshot) {
        (self.key.clone(), self.breaker.snapshot())
    }
}
