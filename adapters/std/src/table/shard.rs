//! This file knows the entries of a part of the table, and when each was last used.
//!
//! Looking a known key up takes the part's lock among other readers, and changes nothing but the
//! entry's stamp. Only what comes and goes takes it alone.

use core::hash::{BuildHasher, Hash};

use evenkeel_core::{BreakerState, Instant, Micros, Trip};
use hashbrown::{Equivalent, HashTable};

use super::queue::{Candidate, Stamp};
use crate::SharedBreaker;
use crate::sync::{Arc, AtomicU64, Hashing, Ordering, RwLock, RwLockReadGuard, read, write};

/// Some of the entries, by key. On a cache line of its own: its lock is written by every lookup.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Shard<K, T: Trip> {
    entries: RwLock<HashTable<Entry<K, T>>>,
    /// The latest stamp given here.
    latest: AtomicU64,
}

/// The key stays in the map, which lookups only read.
#[derive(Debug)]
struct Entry<K, T: Trip> {
    key: K,
    slot: Arc<Slot<T>>,
}

/// What a lookup writes to lies together: with [`Consecutive`](evenkeel_core::Consecutive) and the
/// counts of its handles in 48 bytes.
#[derive(Debug)]
pub(super) struct Slot<T: Trip> {
    used: AtomicU64,
    pub(super) breaker: SharedBreaker<T>,
}

/// What may become of an entry.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Standing {
    /// It is unused for so long, and protects nothing: it is as if it had never been there.
    Forgotten,
    /// Closed and nothing counted: the first to make room.
    Clean,
    /// Closed, but it counts something.
    Counting,
    /// It protects, or somebody holds its handle.
    Needed,
}

/// What has become of a [`Candidate`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// Its entry is gone.
    Gone,
    /// Its entry has been removed just now.
    Removed,
    /// Its entry is as it was, and stays.
    Stays(Standing),
    /// Its entry was used again.
    Used(Candidate),
}

/// When an entry counts as unused for too long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    pub(super) now: Instant,
    pub(super) ttl: Micros,
}

impl Idle {
    pub(super) fn is(self, used: Stamp) -> bool {
        Stamp::of(self.now).instant().since(used.instant()) >= self.ttl
    }
}

impl<K: Eq + Hash, T: Trip> Shard<K, T> {
    pub(super) fn new() -> Self {
        Self { entries: RwLock::new(HashTable::new()), latest: AtomicU64::new(0) }
    }

    /// Runs `step` with what is kept for `key`, used at this moment, while nobody can come or go.
    /// Gives it back where there is nothing, or where it is idle: whether that one is forgotten is
    /// seen by [`claim`](Self::claim).
    #[inline]
    pub(super) fn touch<Q, R, F>(&self, idle: Idle, hash: u64, key: &Q, step: F) -> Result<R, F>
    where
        Q: Equivalent<K> + ?Sized,
        F: FnOnce(Option<&Arc<Slot<T>>>) -> R,
    {
        let entries = read(&self.entries);
        let found = entries.find(hash, |entry| key.equivalent(&entry.key));
        let Some(entry) = found.filter(|entry| !idle.is(entry.used())) else { return Err(step) };
        entry.slot.used.store(self.next_stamp(idle.now).to_bits(), Ordering::Relaxed);
        Ok(step(Some(&entry.slot)))
    }

    /// Like [`touch`](Self::touch), for whoever inserts the key otherwise; the second answer is
    /// whether a forgotten one was removed.
    pub(super) fn claim<Q>(&self, idle: Idle, hash: u64, key: &Q) -> (Option<Arc<Slot<T>>>, bool)
    where
        Q: Equivalent<K> + ?Sized,
    {
        let mut entries = write(&self.entries);
        let Ok(found) = entries.find_entry(hash, |entry| key.equivalent(&entry.key)) else {
            return (None, false);
        };
        let entry = found.get();
        if entry.standing(idle) == Standing::Forgotten {
            found.remove();
            return (None, true);
        }
        entry.slot.used.store(self.next_stamp(idle.now).to_bits(), Ordering::Relaxed);
        (Some(Arc::clone(&entry.slot)), false)
    }

    /// Adds a key that is not there, and answers its place in line and what is kept for it.
    pub(super) fn insert(
        &self,
        now: Instant,
        hash: u64,
        key: K,
        hashing: &Hashing,
    ) -> (Candidate, Arc<Slot<T>>) {
        let mut entries = write(&self.entries);
        let hash_of = |entry: &Entry<K, T>| hashing.hash_one(&entry.key);
        clear_traces(&mut entries, hash_of);
        let used = self.next_stamp(now);
        let breaker = SharedBreaker::closed();
        let slot = Arc::new(Slot { used: AtomicU64::new(used.to_bits()), breaker });
        let entry = Entry { key, slot: Arc::clone(&slot) };
        entries.insert_unique(hash, entry, hash_of);
        (Candidate { used, hash }, slot)
    }

    /// What is kept for `key`, if there is something. Not a use.
    pub(super) fn get<Q>(&self, hash: u64, key: &Q) -> Option<Arc<Slot<T>>>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let entries = read(&self.entries);
        let entry = entries.find(hash, |entry| key.equivalent(&entry.key))?;
        Some(Arc::clone(&entry.slot))
    }

    /// Shows every entry's key and breaker.
    pub(super) fn for_each(&self, mut look: impl FnMut(&K, &SharedBreaker<T>)) {
        for entry in read(&self.entries).iter() {
            look(&entry.key, &entry.slot.breaker);
        }
    }

    /// All entries, for a new line.
    pub(super) fn candidates(&self, hashing: &Hashing, line: &mut Vec<Candidate>) {
        let entries = read(&self.entries);
        line.extend(entries.iter().map(|entry| entry.candidate(hashing)));
    }

    /// For many questions at once, among other readers.
    pub(super) fn reading(&self) -> Reading<'_, K, T> {
        Reading { shard: self, entries: read(&self.entries) }
    }

    /// What has become of `candidate`; its entry is removed if it stands at most so high.
    pub(super) fn evict(
        &self,
        idle: Idle,
        candidate: Candidate,
        at_most: Standing,
        hashing: &Hashing,
    ) -> Found {
        let mut entries = write(&self.entries);
        let Ok(found) = entries.find_entry(candidate.hash, |entry| entry.used() == candidate.used)
        else {
            return used_again(&entries, candidate, hashing);
        };
        let standing = found.get().standing(idle);
        if standing > at_most {
            return Found::Stays(standing);
        }
        found.remove();
        Found::Removed
    }

    /// Removes what is forgotten, and answers how many.
    pub(super) fn sweep(&self, idle: Idle) -> usize {
        let mut entries = write(&self.entries);
        let before = entries.len();
        entries.retain(|entry| entry.standing(idle) != Standing::Forgotten);
        before - entries.len()
    }

    /// Later than all others here, and never before `now`.
    ///
    /// Not one step with the read before it: lookups that overlap may get one stamp, and if the
    /// clock stands still the next ones an earlier stamp than theirs. Making it one costs every
    /// lookup as much as half the lock.
    fn next_stamp(&self, now: Instant) -> Stamp {
        let latest = Stamp::from_bits(self.latest.load(Ordering::Relaxed));
        let stamp = Stamp::of(now).max(latest.next());
        self.latest.store(stamp.to_bits(), Ordering::Relaxed);
        stamp
    }
}

/// A shard that somebody asks about its entries.
#[derive(Debug)]
pub(super) struct Reading<'a, K, T: Trip> {
    shard: &'a Shard<K, T>,
    entries: RwLockReadGuard<'a, HashTable<Entry<K, T>>>,
}

impl<K: Eq + Hash, T: Trip> Reading<'_, K, T> {
    pub(super) fn is_of(&self, shard: &Shard<K, T>) -> bool {
        core::ptr::eq(self.shard, shard)
    }

    /// What has become of `candidate`.
    pub(super) fn ask(&self, idle: Idle, candidate: Candidate, hashing: &Hashing) -> Found {
        match self.entries.find(candidate.hash, |entry| entry.used() == candidate.used) {
            Some(entry) => Found::Stays(entry.standing(idle)),
            None => used_again(&self.entries, candidate, hashing),
        }
    }
}

/// Removed entries leave traces that take up room, and a table without room doubles. One that was
/// made for its entries is made anew instead.
fn clear_traces<E>(entries: &mut HashTable<E>, hash_of: impl Fn(&E) -> u64) {
    let room = entries.num_buckets() / 8 * 7;
    if entries.len() < entries.capacity() || entries.len() >= room {
        return;
    }
    let old = core::mem::replace(entries, HashTable::with_capacity(room));
    for entry in old {
        entries.insert_unique(hash_of(&entry), entry, &hash_of);
    }
}

/// The entry of a candidate that is no longer stamped like it. Should several keys share a hash,
/// the first of them stands for all: nothing is lost but the order of these.
fn used_again<K: Eq + Hash, T: Trip>(
    entries: &HashTable<Entry<K, T>>,
    candidate: Candidate,
    hashing: &Hashing,
) -> Found {
    let entry = entries.find(candidate.hash, |entry| {
        hashing.hash_one(&entry.key) == candidate.hash && entry.used() > candidate.used
    });
    entry.map_or(Found::Gone, |entry| Found::Used(entry.candidate(hashing)))
}

impl<K: Hash, T: Trip> Entry<K, T> {
    fn candidate(&self, hashing: &Hashing) -> Candidate {
        Candidate { used: self.used(), hash: hashing.hash_one(&self.key) }
    }
}

impl<K, T: Trip> Entry<K, T> {
    fn used(&self) -> Stamp {
        Stamp::from_bits(self.slot.used.load(Ordering::Relaxed))
    }

    fn standing(&self, idle: Idle) -> Standing {
        if !self.is_unused() || self.slot.breaker.refuses(idle.now) {
            return Standing::Needed;
        }
        let snapshot = self.slot.breaker.snapshot();
        let is_idle = idle.is(self.used());
        match snapshot.state {
            BreakerState::Closed if is_idle => Standing::Forgotten,
            BreakerState::Closed if snapshot.failures == 0 => Standing::Clean,
            BreakerState::Closed => Standing::Counting,
            BreakerState::Open if is_idle => match snapshot.retry_at {
                Some(retry_at) if retry_at <= idle.now => Standing::Forgotten,
                Some(_) | None => Standing::Needed,
            },
            BreakerState::ForcedClosed
            | BreakerState::ForcedOpen
            | BreakerState::HalfOpen
            | BreakerState::Open => Standing::Needed,
        }
    }

    /// Only the table itself holds it; nobody can come by it while its part is locked alone.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.slot) == 1
    }
}
