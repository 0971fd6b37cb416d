//! This file knows a bounded number of breakers by key.
//!
//! Why bounded? Keys come from data (method names, device ids), and a map that only grows is an
//! outage with a long fuse. And why never evict an open circuit? Because a flood of fresh keys
//! would then reopen the gates to a peer that is known to be down.
//!
//! The cousin of smoltcp's neighbour cache: a linear table, all zero when empty (so that it lives
//! in `.bss`), slots overwritten in place. Meant for a handful of keys; every call walks it once,
//! at roughly 10 instructions per slot. A server uses the hashed table of `evenkeel-std`.

use crate::breaker::next_epoch;
use crate::{
    BreakerPolicy, CircuitBreaker, Consecutive, Deadline, Instant, Micros, Permit, Rejected,
    Snapshot, Transition, Trip, Verdict,
};

/// At most `N` breakers, by key.
///
/// A new key takes a free slot, or that of the least recently used closed breaker with nothing
/// counted, or that of the least recently used closed one. A breaker that protects (open,
/// half-open or forced) is never evicted, nor is one in use. When no slot can be had the newcomer
/// is let through untracked, and counted in [`untracked`](Self::untracked).
///
/// A breaker is in use until the last deadline of the attempts that it let through, even when they
/// have ended. One without a deadline counts for the policy's open time, a second at least, from
/// when it was let through or last renewed. Nothing here counts attempts under way: a permit that
/// is lost would leave the count too high for ever. What nobody has used for 4.4 years may pass for
/// in use until 8.9 years are over: the table keeps 32 bits of time.
///
/// ```
/// use evenkeel_core::{
///     BreakerPolicy, BreakerTable, Consecutive, Deadline, Instant, Verdict, checked,
/// };
///
/// const POLICY: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(1)));
/// static mut _IN_BSS: BreakerTable<u16, 8> = BreakerTable::new();
///
/// let mut table = BreakerTable::<u16, 8>::new();
/// let now = Instant::ZERO;
/// let permit = table.admit(now, 7, Deadline::NONE, &POLICY).unwrap();
/// table.record(now, 7, permit, Verdict::Failure, &POLICY);
/// assert!(table.admit(now, 7, Deadline::NONE, &POLICY).is_err());
/// assert!(table.admit(now, 8, Deadline::NONE, &POLICY).is_ok(), "keys do not meet");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BreakerTable<K, const N: usize, T: Trip = Consecutive> {
    keys: [Option<K>; N],
    breakers: [CircuitBreaker<T>; N],
    /// When each slot was last looked up, in lookups. They wrap, so only how long ago means a thing.
    used: [u32; N],
    /// Until when each slot is in use, in units of 2^16 µs, rounded up. They wrap after 8.9 years
    /// (a clock may count from 1970), so only distances from now mean a thing.
    busy_until: [u32; N],
    lookups: u32,
    /// Above every epoch an evicted breaker ever had, so that a permit it gave means nothing to
    /// its key's next breaker.
    first_epoch: u32,
    untracked: u32,
}

impl<K: Copy + Eq, const N: usize, T: Trip> BreakerTable<K, N, T> {
    /// An empty table; all zero in memory.
    ///
    /// A table without a slot, which would guard nobody, does not compile.
    pub const fn new() -> Self {
        const { assert!(N >= 1, "a table needs a slot: with N = 0 no breaker guards anybody") }
        Self {
            keys: [None; N],
            breakers: [const { CircuitBreaker::closed() }; N],
            used: [0; N],
            busy_until: [0; N],
            lookups: 0,
            first_epoch: 0,
            untracked: 0,
        }
    }

    /// Asks the breaker of `key` for leave, as [`CircuitBreaker::admit`] does.
    ///
    /// # Errors
    ///
    /// [`Rejected`] when that breaker refuses.
    pub fn admit(
        &mut self,
        now: Instant,
        key: K,
        lease: Deadline,
        policy: &BreakerPolicy<T>,
    ) -> Result<Permit, Rejected> {
        let Some(slot) = self.find_or_insert(now, key) else {
            self.untracked = self.untracked.saturating_add(1);
            return Ok(Permit::UNTRACKED);
        };
        let Some(breaker) = self.breakers.get_mut(slot) else { return Ok(Permit::UNTRACKED) };
        let lease = policy.lease_end(now, lease);
        let permit = breaker.admit_until(now, lease, policy)?;
        self.hold(now, slot, lease);
        Ok(permit)
    }

    /// Books how an attempt of `key` ended, as [`CircuitBreaker::record`] does.
    pub fn record(
        &mut self,
        now: Instant,
        key: K,
        permit: Permit,
        verdict: Verdict,
        policy: &BreakerPolicy<T>,
    ) -> Option<Transition> {
        self.get_mut(key)?.record(now, permit, verdict, policy)
    }

    /// Prolongs the lease of a trial of `key`, as [`CircuitBreaker::renew`] does, and keeps its slot
    /// as long.
    pub fn renew(&mut self, now: Instant, key: K, permit: &Permit, policy: &BreakerPolicy<T>) {
        let Some(slot) = self.find(key) else { return };
        let Some(breaker) = self.breakers.get_mut(slot) else { return };
        if permit.epoch() == breaker.epoch() {
            breaker.renew(now, permit, policy);
            self.hold(now, slot, policy.lease_end(now, Deadline::NONE));
        }
    }

    /// The breaker of `key`, if there is one; for manual control. Does not count as a use.
    pub fn get_mut(&mut self, key: K) -> Option<&mut CircuitBreaker<T>> {
        let slot = self.find(key)?;
        self.breakers.get_mut(slot)
    }

    /// The breaker of `key`, if there is one.
    pub fn get(&self, key: K) -> Option<&CircuitBreaker<T>> {
        self.breakers.get(self.find(key)?)
    }

    /// What every breaker looks like, in no particular order.
    pub fn snapshots(&self) -> impl Iterator<Item = (K, Snapshot)> {
        let entries = self.keys.iter().zip(&self.breakers);
        entries.filter_map(|(key, breaker)| Some(((*key)?, breaker.snapshot())))
    }

    /// How many keys have a breaker; `N` at most.
    pub fn len(&self) -> usize {
        // Not `count`: its sum could overflow as far as the compiler can tell.
        self.keys.iter().flatten().fold(0, |len, _| len.wrapping_add(1))
    }

    /// Whether no key has one.
    pub fn is_empty(&self) -> bool {
        self.keys.iter().all(Option::is_none)
    }

    /// How many attempts were let through without a breaker because no slot could be had; stays at
    /// 4,294,967,295.
    pub const fn untracked(&self) -> u32 {
        self.untracked
    }

    fn find_or_insert(&mut self, now: Instant, key: K) -> Option<usize> {
        self.lookups = self.lookups.wrapping_add(1);
        let slot = match self.find(key) {
            Some(slot) => slot,
            None => {
                let slot = self.victim(now)?;
                self.replace(now, slot, key);
                slot
            }
        };
        if let Some(used) = self.used.get_mut(slot) {
            *used = self.lookups;
        }
        Some(slot)
    }

    fn find(&self, key: K) -> Option<usize> {
        // Not `enumerate`: its counter could overflow as far as the compiler can tell.
        let mut slot = 0usize;
        while let Some(candidate) = self.keys.get(slot) {
            if *candidate == Some(key) {
                return Some(slot);
            }
            slot = slot.wrapping_add(1);
        }
        None
    }

    /// A free slot, or the one that is missed least; `None` while all protect or are in use.
    fn victim(&self, now: Instant) -> Option<usize> {
        let mut best: Option<(usize, bool, u32)> = None;
        let mut slot = 0usize;
        while let (Some(key), Some(breaker), Some(used), Some(busy_until)) = (
            self.keys.get(slot),
            self.breakers.get(slot),
            self.used.get(slot),
            self.busy_until.get(slot),
        ) {
            if key.is_none() {
                return Some(slot);
            }
            let clean = breaker.is_clean();
            let evictable = !breaker.is_protecting() && units_left(*busy_until, now) == 0;
            let age = self.lookups.wrapping_sub(*used);
            let better = best.is_none_or(|(_, best_clean, best_age)| {
                (clean && !best_clean) || (clean == best_clean && age > best_age)
            });
            if evictable && better {
                best = Some((slot, clean, age));
            }
            slot = slot.wrapping_add(1);
        }
        best.map(|(slot, _, _)| slot)
    }

    fn replace(&mut self, now: Instant, slot: usize, key: K) {
        if let Some(breaker) = self.breakers.get_mut(slot) {
            let evicted = breaker.epoch();
            // As a signed distance, because epochs wrap.
            if evicted.wrapping_sub(self.first_epoch) < 1 << 31 {
                self.first_epoch = next_epoch(evicted);
            }
            *breaker = CircuitBreaker::with_epoch(self.first_epoch);
        }
        if let Some(current) = self.keys.get_mut(slot) {
            *current = Some(key);
        }
        if let Some(busy_until) = self.busy_until.get_mut(slot) {
            *busy_until = units(now.as_micros());
        }
    }

    /// Keeps `slot` until `lease`.
    #[inline(always)]
    fn hold(&mut self, now: Instant, slot: usize, lease: Instant) {
        if let Some(busy_until) = self.busy_until.get_mut(slot) {
            *busy_until = prolonged(*busy_until, now, lease);
        }
    }
}

impl<K: Copy + Eq, const N: usize, T: Trip> Default for BreakerTable<K, N, T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The later of `busy_until` and `lease`, of which half a turn (4.4 years) is taken at most.
fn prolonged(busy_until: u32, now: Instant, lease: Instant) -> u32 {
    let rounded_up = lease.after(Micros::from_micros(0xffff)).as_micros() >> 16;
    let ahead = rounded_up.saturating_sub(now.as_micros() >> 16);
    let ahead = u32::try_from(ahead).unwrap_or(HALF_TURN).min(HALF_TURN);
    units(now.as_micros()).wrapping_add(ahead.max(units_left(busy_until, now)))
}

/// How many units `busy_until` is ahead; what is more than half a turn ahead is in fact behind.
fn units_left(busy_until: u32, now: Instant) -> u32 {
    let left = busy_until.wrapping_sub(units(now.as_micros()));
    if left <= HALF_TURN { left } else { 0 }
}

fn units(micros: u64) -> u32 {
    u32::try_from((micros >> 16) & 0xffff_ffff).unwrap_or(0)
}

const HALF_TURN: u32 = 1 << 31;

/// 24 B of breaker, 4 B of key, 8 B of bookkeeping; and 12 B for the table.
const _: () = assert!(size_of::<BreakerTable<u16, 8>>() <= 304);

#[cfg(test)]
mod tests {
    use super::BreakerTable;
    use crate::Instant;

    /// There is no index that panics, and one beyond the end reaches nothing.
    #[test]
    fn a_slot_that_is_not_there_changes_nothing() {
        let mut table = BreakerTable::<u8, 2>::new();
        let untouched = table.clone();
        for slot in [2, usize::MAX] {
            table.hold(Instant::ZERO, slot, Instant::MAX);
            table.replace(Instant::ZERO, slot, 7);
        }
        assert_eq!(table, untouched);
    }
}
