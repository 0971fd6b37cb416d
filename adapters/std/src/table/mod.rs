//! This file knows a bounded number of shared breakers by key, for a server.
//!
//! The laws are those of the core's table. Two things differ because a server has memory: while
//! *everything* in it protects, it grows up to four times its size rather than let newcomers
//! through unguarded, and shrinks back as soon as something may go; and it forgets what nobody has
//! asked for in an hour, so that a key that died for good does not stay for ever.
//!
//! "In use" needs no counter: somebody holds the entry's [`Handle`].
//!
//! Readers of the map share its locks, and what comes and goes waits for its own: `shard` has the
//! entries, `queue` the order of their last use, `order` decides who goes. An entry takes 62 bytes
//! and its key, and 16 more from the first newcomer to a full table on.

mod lend;
mod order;
mod queue;
mod shard;

use core::hash::{BuildHasher, Hash};
use core::ops::Deref;
use core::time::Duration;

use evenkeel_core::{Consecutive, Instant, Invalid, Micros, Snapshot, Trip};
use hashbrown::Equivalent;

use crate::SharedBreaker;
use crate::sync::{Arc, AtomicU64, Hashing, Mutex, Ordering, lock, lock_at_once};
use order::{Order, SMALL};
use shard::{Idle, Shard, Slot};

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
    shards: Shards<K, T>,
    /// From when on the idle ones are to be forgotten again, in µs.
    sweep_at: AtomicU64,
    /// Taken before any shard is locked alone.
    order: Mutex<Order>,
}

/// A breaker of a [`SharedTable`]. While one is held its entry is in use and never evicted.
#[derive(Debug)]
pub struct Handle<T: Trip = Consecutive>(Arc<Slot<T>>);

impl<T: Trip> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Trip> Deref for Handle<T> {
    type Target = SharedBreaker<T>;

    #[inline]
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

/// The parts of a table: one while it is small, so that what is used at one instant has an order.
#[derive(Debug)]
struct Shards<K, T: Trip> {
    all: Box<[Shard<K, T>]>,
    hashing: Hashing,
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
        let idle_ttl = Micros::from_millis(3_600_000);
        Ok(Self {
            max,
            idle_ttl,
            shards: Shards::for_keys(max),
            sweep_at: AtomicU64::new(idle_ttl.as_micros()),
            order: Mutex::new(Order::default()),
        })
    }

    /// With another time until an unused key is forgotten. It is from then on as if it had never
    /// been there, and takes no place any more at the latest from twice that time on.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub fn with_idle_ttl(mut self, ttl: Duration) -> Result<Self, Invalid> {
        self.idle_ttl = Micros::positive_setting("breaker.idle_ttl", ttl)?;
        self.sweep_at = AtomicU64::new(self.idle_ttl.as_micros());
        Ok(self)
    }

    /// The breaker of `key`, made if there is none. Every lookup is a use.
    ///
    /// A known key is found beside other lookups, by two locked instructions on its part of the
    /// table and two on its count of handles; resolve a method once and keep the handle where you
    /// can. A newcomer waits for others that come or go. It costs the same however many keys there
    /// are; only in a full table of up to 1,024 it also passes over those that may not go.
    ///
    /// Which one is the least recently used is exact in a table of up to 1,024 keys, also among
    /// lookups of one instant, unless they overlapped. In a larger one keys used within the same
    /// microsecond may go in either order, and what stopped protecting without being looked up is
    /// noticed after at most as many newcomers as were passed over.
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
        let (handle, overflowed) = self.find(now, key, own, |slot| slot.cloned().map(Handle));
        Lookup { handle, overflowed }
    }

    /// What every breaker looks like, in no particular order. Not a use.
    pub fn snapshots(&self) -> Vec<(K, Snapshot)>
    where
        K: Clone,
    {
        let mut snapshots = Vec::new();
        for shard in self.shards.all() {
            shard.for_each(|key, breaker| snapshots.push((key.clone(), breaker.snapshot())));
        }
        snapshots
    }

    /// The breaker of `key` if there is one, for manual control. Not a use.
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<Handle<T>> {
        let hash = self.shards.hashing.hash_one(key);
        self.shards.of(hash).get(hash, key).map(Handle)
    }

    /// The size it was made with.
    pub const fn max(&self) -> usize {
        self.max
    }

    /// How many keys have a breaker.
    pub fn len(&self) -> usize {
        lock(&self.order).len
    }

    /// Whether no key has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many lookups found no room.
    pub fn untracked(&self) -> u64 {
        lock(&self.order).untracked
    }

    // Kept out of the way of those whose key is known.
    #[inline(never)]
    fn insert<Q>(&self, idle: Idle, hash: u64, key: &Q, own: impl FnOnce() -> K) -> Lookup<T>
    where
        Q: Equivalent<K> + ?Sized,
    {
        let mut order = lock(&self.order);
        let shard = self.shards.of(hash);
        // Another thread may have been quicker, and what is idle may protect.
        let (found, was_forgotten) = shard.claim(idle, hash, key);
        if let Some(slot) = found {
            return Lookup { handle: Some(Handle(slot)), overflowed: false };
        }
        order.gone(usize::from(was_forgotten));
        if order.len >= self.max && order.make_room(&self.shards, idle, self.max) {
            self.sweep_at.store(idle.now.after(idle.ttl).as_micros(), Ordering::Relaxed);
        }
        let was_overflowing = order.overflowing;
        order.overflowing = order.len >= self.max;
        let overflowed = order.overflowing && !was_overflowing;
        if order.len >= self.max.saturating_mul(4) {
            order.untracked = order.untracked.saturating_add(1);
            return Lookup { handle: None, overflowed };
        }
        let (candidate, slot) = shard.insert(idle.now, hash, own(), &self.shards.hashing);
        order.joined(candidate);
        Lookup { handle: Some(Handle(slot)), overflowed }
    }

    /// Forgets what is idle, unless somebody is busy with that or with an insert.
    #[inline(never)]
    fn sweep(&self, idle: Idle) {
        let Some(mut order) = lock_at_once(&self.order) else { return };
        if let Some(next) = order.sweep(&self.shards, idle) {
            self.sweep_at.store(next.as_micros(), Ordering::Relaxed);
        }
    }
}

impl<K: Eq + Hash, T: Trip> Shards<K, T> {
    fn for_keys(max: usize) -> Self {
        let shards = if max <= SMALL { 1 } else { max.div_ceil(KEYS_OF_A_SHARD) };
        let shards = shards.min(MOST_SHARDS);
        let all = (0..shards).map(|_| Shard::new()).collect();
        Self { all, hashing: Hashing::default() }
    }

    /// By bits of the hash that the shard itself does not use: it takes the lowest for the place
    /// and the highest seven to tell keys apart.
    #[inline]
    fn of(&self, hash: u64) -> &Shard<K, T> {
        let middle = (hash >> 20) & 0xffff_ffff;
        &self.all[((middle * self.all.len() as u64) >> 32) as usize]
    }

    fn all(&self) -> &[Shard<K, T>] {
        &self.all
    }

    const fn hashing(&self) -> &Hashing {
        &self.hashing
    }
}

/// On average, in a full table. A shard has room for 3,584 before it doubles: with this many it is
/// four fifths full, and too many by chance in no more than one of 10^8.
const KEYS_OF_A_SHARD: usize = 3_240;
/// For a size that means "without bound".
const MOST_SHARDS: usize = 4_096;
