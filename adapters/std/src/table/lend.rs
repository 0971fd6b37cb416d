//! This file knows how the breaker of a key is reached, and lent to a step that is over at once.

use core::hash::{BuildHasher, Hash};

use evenkeel_core::{Instant, Trip};
use hashbrown::Equivalent;

use super::shard::{Idle, Slot};
use super::{Lookup, SharedTable};
use crate::SharedBreaker;
use crate::sync::{Arc, Ordering};

impl<K: Eq + Hash, T: Trip> SharedTable<K, T> {
    /// Like [`lookup_with`](Self::lookup_with), for what is over at once: lends the breaker to
    /// `step` instead of giving a handle, which saves two of the four locked instructions. Answers
    /// what `step` does, and [`Lookup::overflowed`]. `step` gets `None` when the table is full of
    /// protecting ones.
    ///
    /// While `step` runs nobody comes into that part of the table, or goes: it must not wait for
    /// anything, nor use the table, or it waits for itself. A permit must be recorded within it,
    /// because nothing keeps the entry when it is over.
    ///
    /// ```
    /// use evenkeel_core::{BreakerPolicy, Deadline, Instant, Verdict};
    /// use evenkeel_std::SharedTable;
    ///
    /// let policy = BreakerPolicy::DEFAULT;
    /// let table: SharedTable<u64> = SharedTable::new(1_000).unwrap();
    /// let (now, tenant) = (Instant::ZERO, 42);
    /// let (answer, _) = table.lend(now, &tenant, || tenant, |breaker| {
    ///     let permit = breaker?.admit(now, Deadline::NONE, &policy).ok()?;
    ///     let answer = 6 * 7; // from memory, say
    ///     breaker?.record(now, permit, Verdict::Success, &policy);
    ///     Some(answer)
    /// });
    /// assert_eq!(answer, Some(42));
    /// ```
    #[inline]
    pub fn lend<Q, R>(
        &self,
        now: Instant,
        key: &Q,
        own: impl FnOnce() -> K,
        step: impl FnOnce(Option<&SharedBreaker<T>>) -> R,
    ) -> (R, bool)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.find(now, key, own, |slot| step(slot.map(|slot| &slot.breaker)))
    }

    /// Runs `step` with what is kept for `key`, and answers whether that began an overflow.
    #[inline]
    pub(super) fn find<Q, R>(
        &self,
        now: Instant,
        key: &Q,
        own: impl FnOnce() -> K,
        step: impl FnOnce(Option<&Arc<Slot<T>>>) -> R,
    ) -> (R, bool)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let idle = Idle { now, ttl: self.idle_ttl };
        if now.as_micros() >= self.sweep_at.load(Ordering::Relaxed) {
            self.sweep(idle);
        }
        let hash = self.shards.hashing.hash_one(key);
        match self.shards.of(hash).touch(idle, hash, key, step) {
            Ok(answer) => (answer, false),
            Err(step) => {
                let Lookup { handle, overflowed } = self.insert(idle, hash, key, own);
                (step(handle.as_ref().map(|handle| &handle.0)), overflowed)
            }
        }
    }
}
