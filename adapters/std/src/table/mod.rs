//! This file knows a bounded number of shared breakers by key, for a server.
//!
//! The laws are those of the core's table. Two things differ because a server has memory: while
//! *everything* in it protects, it grows up to four times its size rather than let newcomers
//! through unguarded, and shrinks back as soon as something may go; and it forgets what nobody has
//! asked for in an hour, so that a key that died for good does not stay for ever.
//!
//! "In use" needs no counter: somebody holds the entry's [`Handle`].

mod recency;

use core::hash::Hash;
use core::ops::Deref;
use core::time::Duration;

use evenkeel_core::{BreakerState, Consecutive, Instant, Invalid, Micros, Snapshot, Trip};
use hashbrown::Equivalent;

use crate::SharedBreaker;
use crate::sync::{Arc, Mutex, lock};
use recency::Recency;

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
pub struct Handle<T: Trip = Consecutive>(Arc<SharedBreaker<T>>);

impl<T: Trip> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Trip> Deref for Handle<T> {
    type Target = SharedBreaker<T>;

    fn deref(&self) -> &SharedBreaker<T> {
        &self.0
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
struct Inner<K, T: Trip> {
    entries: Recency<K, Entry<T>>,
    /// When the idle ones were last forgotten.
    swept_at: Instant,
    untracked: u64,
    overflowing: bool,
}

#[derive(Debug)]
struct Entry<T: Trip> {
    breaker: Arc<SharedBreaker<T>>,
    used_at: Instant,
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
        let inner = Inner {
            entries: Recency::new(),
            swept_at: Instant::ZERO,
            untracked: 0,
            overflowing: false,
        };
        Ok(Self { max, idle_ttl: Micros::from_millis(3_600_000), inner: Mutex::new(inner) })
    }

    /// With another time until an unused key is forgotten. It is from then on as if it had never
    /// been there, and takes no place any more at the latest from twice that time on.
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
    /// Takes a lock; resolve a method once and keep the handle where you can. It costs the same
    /// however many keys there are, except that a new one in a full table passes over the older
    /// ones that may not go.
    ///
    /// Keep the handle until the permits that came from it are recorded: that is what makes the
    /// entry in use.
    pub fn lookup<Q>(&self, now: Instant, key: &Q) -> Lookup<T>
    where
        Q: Hash + Equivalent<K> + ?Sized,
        K: for<'a> From<&'a Q>,
    {
        self.lookup_with(now, key, || K::from(key))
    }

    /// Like [`lookup`](Self::lookup), for keys that are not made by `From`. `own` is called for a
    /// key that is new, and must give one that equals `key`.
    ///
    /// ```
    /// use evenkeel_core::Instant;
    /// use evenkeel_std::SharedTable;
    ///
    /// let table: SharedTable<u64> = SharedTable::new(1_000).unwrap();
    /// let tenant = 42;
    /// assert!(table.lookup_with(Instant::ZERO, &tenant, || tenant).handle.is_some());
    /// assert!(table.get(&tenant).is_some());
    /// ```
    pub fn lookup_with<Q>(&self, now: Instant, key: &Q, own: impl FnOnce() -> K) -> Lookup<T>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let mut inner = lock(&self.inner);
        if now.since(inner.swept_at) >= self.idle_ttl {
            inner.forget_idle(now, self.idle_ttl);
        }
        if let Some(at) = inner.entries.find(key) {
            match inner.entries.touch(at) {
                Some(entry) if !(entry.is_idle(now, self.idle_ttl) && entry.may_go(now)) => {
                    entry.used_at = now;
                    let handle = Some(Handle(Arc::clone(&entry.breaker)));
                    return Lookup { handle, overflowed: false };
                }
                Some(_) | None => inner.entries.remove(at),
            }
        }
        inner.make_room(now, self.idle_ttl, self.max);
        let was_overflowing = inner.overflowing;
        inner.overflowing = inner.entries.len() >= self.max;
        let overflowed = inner.overflowing && !was_overflowing;
        if inner.entries.len() >= self.max.saturating_mul(4) {
            inner.untracked = inner.untracked.saturating_add(1);
            return Lookup { handle: None, overflowed };
        }
        let breaker = Arc::new(SharedBreaker::closed());
        let entry = Entry { breaker: Arc::clone(&breaker), used_at: now };
        inner.entries.insert(own(), entry);
        Lookup { handle: Some(Handle(breaker)), overflowed }
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
        let inner = lock(&self.inner);
        let entry = inner.entries.find(key).and_then(|at| inner.entries.get(at))?;
        Some(Handle(Arc::clone(&entry.breaker)))
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
}

impl<K: Eq + Hash, T: Trip> Inner<K, T> {
    /// Forgets what is idle, also when nobody ever needs its place.
    fn forget_idle(&mut self, now: Instant, ttl: Micros) {
        self.swept_at = now;
        let mut next = self.entries.oldest();
        while let Some(at) = next
            && let Some(entry) = self.entries.get(at).filter(|entry| entry.is_idle(now, ttl))
        {
            next = self.entries.after(at);
            if entry.may_go(now) {
                self.entries.remove(at);
            }
        }
    }

    /// Before an insert: forgets what is idle, then evicts until there is room or nothing may go;
    /// clean ones first, then those that count something, the least recently used of each.
    fn make_room(&mut self, now: Instant, ttl: Micros, max: usize) {
        if self.entries.len() >= max {
            self.forget_idle(now, ttl);
        }
        for most_failures in [0, u16::MAX] {
            let mut next = self.entries.oldest().filter(|_| self.entries.len() >= max);
            while let Some(at) = next {
                next = self.entries.after(at);
                let entry = self.entries.get(at);
                if entry.is_some_and(|entry| entry.is_evictable(most_failures)) {
                    self.entries.remove(at);
                    next = next.filter(|_| self.entries.len() >= max);
                }
            }
        }
    }
}

impl<T: Trip> Entry<T> {
    fn is_idle(&self, now: Instant, ttl: Micros) -> bool {
        now.since(self.used_at) >= ttl
    }

    /// Closed with no more failures counted than these, and held by nobody.
    fn is_evictable(&self, most_failures: u16) -> bool {
        self.is_unused() && {
            let snapshot = self.breaker.snapshot();
            matches!(snapshot.state, BreakerState::Closed) && snapshot.failures <= most_failures
        }
    }

    /// Protects nothing now: closed, or open with its time over; and held by nobody.
    fn may_go(&self, now: Instant) -> bool {
        self.is_unused() && {
            let snapshot = self.breaker.snapshot();
            match snapshot.state {
                BreakerState::Closed => true,
                BreakerState::Open => snapshot.retry_at.is_some_and(|retry_at| retry_at <= now),
                BreakerState::ForcedClosed | BreakerState::ForcedOpen | BreakerState::HalfOpen => {
                    false
                }
            }
        }
    }

    /// Only the table itself holds it; nobody can come by it while the table is locked.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.breaker) == 1
    }
}
