//! This file knows a bounded number of shared breakers by key, for a server.
//!
//! The laws are those of the core's table. Two things differ because a server has memory: while
//! *everything* in it protects, it grows up to four times its size rather than let newcomers
//! through unguarded, and shrinks back as soon as something may go; and it forgets what nobody has
//! asked for in an hour, so that a key that died for good does not stay for ever.
//!
//! "In use" needs no counter: somebody holds the entry's [`Handle`].

use core::hash::Hash;
use core::ops::Deref;
use core::time::Duration;

use evenkeel_core::{BreakerState, Consecutive, Instant, Invalid, Micros, Snapshot, Trip};
use hashbrown::{Equivalent, HashMap};

use crate::SharedBreaker;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, lock};

/// Breakers by key, at most `max` of them in quiet times.
///
/// ```
/// use evenkeel_core::Instant;
/// use evenkeel_std::SharedTable;
///
/// let table: SharedTable<String> = SharedTable::new(1_000).unwrap();
/// let now = Instant::ZERO;
/// let first = table.lookup(now, "/orders.v1.Orders/Get").handle.unwrap();
/// let again = table.lookup(now, "/orders.v1.Orders/Get").handle.unwrap();
/// assert!(std::ptr::eq(&*first, &*again), "same key, same breaker");
/// ```
#[derive(Debug)]
pub struct SharedTable<K, T: Trip = Consecutive> {
    max: usize,
    idle_ttl: Micros,
    inner: Mutex<Inner<K, T>>,
}

/// A breaker of a [`SharedTable`]. While one is held its entry is in use and never evicted.
#[derive(Debug)]
pub struct Handle<T: Trip = Consecutive>(Arc<Entry<T>>);

impl<T: Trip> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Trip> Deref for Handle<T> {
    type Target = SharedBreaker<T>;

    fn deref(&self) -> &SharedBreaker<T> {
        &self.0.breaker
    }
}

/// What a [`SharedTable::lookup`] found, and what it did to the table.
#[derive(Debug)]
pub struct Lookup<T: Trip = Consecutive> {
    /// The key's breaker; `None` when the table is full of protecting ones. The attempt then goes
    /// out unguarded.
    pub handle: Option<Handle<T>>,
    /// Set when this lookup is the first of an episode in which the table holds more than its
    /// size, or turns newcomers away: the moment for one warning.
    pub overflowed: bool,
}

#[derive(Debug)]
struct Entry<T: Trip> {
    breaker: SharedBreaker<T>,
    /// When it was last looked up, in lookups: the order of eviction.
    used: AtomicU64,
    /// The same in µs of the clock, for forgetting.
    used_at: AtomicU64,
}

impl<T: Trip> Entry<T> {
    fn is_idle(&self, now: Instant, ttl: Micros) -> bool {
        let used_at = Instant::from_micros(self.used_at.load(Ordering::Relaxed));
        now.since(used_at) >= ttl
    }
}

#[derive(Debug)]
struct Inner<K, T: Trip> {
    entries: HashMap<K, Arc<Entry<T>>>,
    lookups: u64,
    untracked: u64,
    overflowing: bool,
}

impl<K: Eq + Hash, T: Trip> SharedTable<K, T> {
    /// A table for `max` keys that forgets one after an hour without a lookup.
    ///
    /// # Errors
    ///
    /// Refuses 0.
    pub fn new(max: usize) -> Result<Self, Invalid> {
        if max == 0 {
            return Err(Invalid::new("breaker.max_methods", 0, "", "must be 1 or more"));
        }
        let inner = Inner { entries: HashMap::new(), lookups: 0, untracked: 0, overflowing: false };
        Ok(Self { max, idle_ttl: Micros::from_millis(3_600_000), inner: Mutex::new(inner) })
    }

    /// With another time until an unused key is forgotten.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub fn with_idle_ttl(mut self, ttl: Duration) -> Result<Self, Invalid> {
        self.idle_ttl = Micros::positive_setting("breaker.idle_ttl", ttl)?;
        Ok(self)
    }

    /// The breaker of `key`, made if there is none. Every lookup is a use.
    ///
    /// Takes a lock; resolve a method once and keep the handle where you can.
    pub fn lookup<Q>(&self, now: Instant, key: &Q) -> Lookup<T>
    where
        Q: Hash + Equivalent<K> + ?Sized,
        K: for<'a> From<&'a Q>,
    {
        let mut inner = lock(&self.inner);
        inner.lookups = inner.lookups.saturating_add(1);
        if let Some(entry) = inner.entries.get(key)
            && !(entry.is_idle(now, self.idle_ttl) && may_go(entry, now))
        {
            entry.used.store(inner.lookups, Ordering::Relaxed);
            entry.used_at.store(now.as_micros(), Ordering::Relaxed);
            return Lookup { handle: Some(Handle(Arc::clone(entry))), overflowed: false };
        }
        inner.entries.remove(key);
        self.make_room(&mut inner, now);
        let was_overflowing = inner.overflowing;
        inner.overflowing = inner.entries.len() >= self.max;
        let overflowed = inner.overflowing && !was_overflowing;
        if inner.entries.len() >= self.max.saturating_mul(4) {
            inner.untracked = inner.untracked.saturating_add(1);
            return Lookup { handle: None, overflowed };
        }
        let entry = Arc::new(Entry {
            breaker: SharedBreaker::closed(),
            used: AtomicU64::new(inner.lookups),
            used_at: AtomicU64::new(now.as_micros()),
        });
        inner.entries.insert(K::from(key), Arc::clone(&entry));
        Lookup { handle: Some(Handle(entry)), overflowed }
    }

    /// What every breaker looks like, in no particular order. Not a use.
    pub fn snapshots(&self) -> Vec<(K, Snapshot)>
    where
        K: Clone,
    {
        let inner = lock(&self.inner);
        let entries = inner.entries.iter();
        entries.map(|(key, entry)| (key.clone(), entry.breaker.snapshot())).collect()
    }

    /// The breaker of `key` if there is one, for manual control. Not a use.
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<Handle<T>> {
        lock(&self.inner).entries.get(key).map(|entry| Handle(Arc::clone(entry)))
    }

    /// The size it was made with.
    pub const fn max(&self) -> usize {
        self.max
    }

    /// How many keys have a breaker.
    pub fn len(&self) -> usize {
        lock(&self.inner).entries.len()
    }

    /// Whether no key has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many lookups found no room.
    pub fn untracked(&self) -> u64 {
        lock(&self.inner).untracked
    }

    /// Before an insert: forgets what is idle, and evicts until there is room or nothing may go.
    fn make_room(&self, inner: &mut Inner<K, T>, now: Instant) {
        if inner.entries.len() < self.max {
            return;
        }
        let ttl = self.idle_ttl;
        inner.entries.retain(|_, entry| !(entry.is_idle(now, ttl) && may_go(entry, now)));
        let excess = (inner.entries.len() + 1).saturating_sub(self.max);
        if excess == 0 {
            return;
        }
        let mut victims: Vec<(bool, u64)> = inner
            .entries
            .values()
            .filter(|entry| is_evictable(entry))
            .map(|entry| (!entry.breaker.is_clean(), entry.used.load(Ordering::Relaxed)))
            .collect();
        if victims.is_empty() {
            return;
        }
        // Clean ones first, then the least recently used: exactly `excess` of them.
        let last = excess.min(victims.len()) - 1;
        let (_, limit, _) = victims.select_nth_unstable(last);
        let limit = *limit;
        inner.entries.retain(|_, entry| {
            let rank = (!entry.breaker.is_clean(), entry.used.load(Ordering::Relaxed));
            !(is_evictable(entry) && rank <= limit)
        });
    }
}

/// Closed and held by nobody.
fn is_evictable<T: Trip>(entry: &Arc<Entry<T>>) -> bool {
    is_unused(entry) && matches!(entry.breaker.snapshot().state, BreakerState::Closed)
}

/// Protects nothing now: closed, or open with its time over.
fn may_go<T: Trip>(entry: &Arc<Entry<T>>, now: Instant) -> bool {
    let snapshot = entry.breaker.snapshot();
    let over = match snapshot.state {
        BreakerState::Closed => true,
        BreakerState::Open => snapshot.retry_at.is_some_and(|retry_at| retry_at <= now),
        BreakerState::ForcedClosed | BreakerState::ForcedOpen | BreakerState::HalfOpen => false,
    };
    over && is_unused(entry)
}

/// Only the table itself holds it; nobody can come by it while the table is locked.
fn is_unused<T: Trip>(entry: &Arc<Entry<T>>) -> bool {
    Arc::strong_count(entry) == 1
}
