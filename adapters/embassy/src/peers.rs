//! This file knows how the breakers of several peers are shared between tasks, interrupts,
//! executors and cores.
//!
//! The machines are plain values; sharing them is a mutex of embassy-sync's, over any `RawMutex`:
//! `CriticalSectionRawMutex` between executors, interrupts and cores, `NoopRawMutex` within one
//! executor. Nothing is logged and nobody's code is called while it is held: on a Cortex-M0 the
//! masked section is the table's own few hundred instructions and no more.

use core::cell::{RefCell, RefMut};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use evenkeel_core::{
    BreakerPolicy, BreakerTable, CallPolicy, CodeSet, Consecutive, Deadline, Instant, Permit,
    Refusal, Report, Snapshot, Target, Throttle, ThrottlePolicy, Transition, Tried, Trip, Upstream,
};

use crate::log;

/// At most `N` breakers by key, in a static, for everybody.
///
/// It is all zero, so it lives in `.bss`; the policies stay in flash and come with each
/// [`view`](Self::view). `N` costs 36 bytes each with a `u16` key and [`Consecutive`], and every call
/// walks the table once under the mutex: sixteen at most is a good rule, and the number of peers a
/// better one.
///
/// ```
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
/// use evenkeel_embassy::Peers;
///
/// static PEERS: Peers<CriticalSectionRawMutex, u16, 8> = Peers::new();
/// assert!(PEERS.snapshot(7).is_none());
/// ```
pub struct Peers<R: RawMutex, K: Copy + Eq, const N: usize, T: Trip = Consecutive> {
    table: Mutex<R, RefCell<BreakerTable<K, N, T>>>,
}

impl<R: RawMutex, K: Copy + Eq, const N: usize, T: Trip> core::fmt::Debug for Peers<R, K, N, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Peers").finish_non_exhaustive()
    }
}

impl<R: RawMutex, K: Copy + Eq, const N: usize, T: Trip> Peers<R, K, N, T> {
    /// No peer yet.
    pub const fn new() -> Self {
        Self { table: Mutex::new(RefCell::new(BreakerTable::new())) }
    }

    /// What a call to the peer `key` runs against. Make one for each call; it is a few references.
    pub const fn view<'a>(
        &'a self,
        key: K,
        policy: &'a CallPolicy,
        breaker: &'a BreakerPolicy<T>,
    ) -> View<'a, R, K, N, T> {
        View { peers: self, key, policy, breaker, tokens: None }
    }

    /// What the breaker of `key` looks like; `None` while there is none.
    pub fn snapshot(&self, key: K) -> Option<Snapshot> {
        self.with(|table| table.get(key).map(evenkeel_core::CircuitBreaker::snapshot)).flatten()
    }

    /// Shows every key that has a breaker, with what that looks like. Under the mutex: do no more with
    /// them than to write them down.
    pub fn snapshots(&self, mut look: impl FnMut(K, Snapshot)) {
        _ = self.with(|table| table.snapshots().for_each(|(key, snapshot)| look(key, snapshot)));
    }

    /// How many attempts were let through without a breaker because no slot could be had. When it
    /// grows, `N` is too small for what the program does, or peers that are gone for good hold slots:
    /// an open breaker keeps its own until its peer answers, or somebody resets it with
    /// [`control`](Self::control).
    pub fn untracked(&self) -> u32 {
        self.with(|table| table.untracked()).unwrap_or(0)
    }

    /// Forces the breaker of `key` open or closed, or resets it; `None` while there is none.
    pub fn control<A>(
        &self,
        key: K,
        action: impl FnOnce(&mut evenkeel_core::CircuitBreaker<T>) -> A,
    ) -> Option<A> {
        self.with(|table| table.get_mut(key).map(action)).flatten()
    }

    /// Runs `step` on the table; `None` when it is being used further up this very stack, which
    /// only a mutex that excludes nobody allows.
    fn with<A>(&self, step: impl FnOnce(&mut BreakerTable<K, N, T>) -> A) -> Option<A> {
        self.table.lock(|table| Some(step(&mut *table.try_borrow_mut().ok()?)))
    }
}

impl<R: RawMutex, K: Copy + Eq, const N: usize, T: Trip> Default for Peers<R, K, N, T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A retry throttle in a static: one for each upstream, full at first.
pub struct Tokens<R: RawMutex> {
    policy: &'static ThrottlePolicy,
    left: Mutex<R, RefCell<Throttle>>,
}

impl<R: RawMutex> core::fmt::Debug for Tokens<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tokens").field("policy", self.policy).finish_non_exhaustive()
    }
}

impl<R: RawMutex> Tokens<R> {
    /// With all the tokens `policy` allows.
    pub const fn full(policy: &'static ThrottlePolicy) -> Self {
        Self { policy, left: Mutex::new(RefCell::new(Throttle::full(policy))) }
    }

    /// What is left, in thousandths of a token.
    pub fn millitokens(&self) -> u32 {
        self.left.lock(|left| left.try_borrow().map_or(0, |left| left.millitokens()))
    }

    fn record(&self, report: &Report, codes: CodeSet) {
        let book = |mut left: RefMut<'_, Throttle>| left.record(report, codes, self.policy);
        self.left.lock(|left| _ = left.try_borrow_mut().map(book));
    }

    fn allow(&self) -> bool {
        self.left.lock(|left| left.try_borrow_mut().is_ok_and(|mut left| left.allow(self.policy)))
    }
}

/// One peer of [`Peers`], for one call.
pub struct View<'a, R: RawMutex, K: Copy + Eq, const N: usize, T: Trip = Consecutive> {
    peers: &'a Peers<R, K, N, T>,
    key: K,
    policy: &'a CallPolicy,
    breaker: &'a BreakerPolicy<T>,
    tokens: Option<&'a Tokens<R>>,
}

impl<'a, R: RawMutex, K: Copy + Eq, const N: usize, T: Trip> View<'a, R, K, N, T> {
    /// With this throttle.
    pub const fn with_throttle(mut self, tokens: &'a Tokens<R>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    fn noted(changed: Option<Transition>) {
        if let Some(changed) = changed {
            log::changed(changed);
        }
    }
}

impl<R: RawMutex, K: Copy + Eq, const N: usize, T: Trip> core::fmt::Debug for View<'_, R, K, N, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("View").field("policy", self.policy).finish_non_exhaustive()
    }
}

impl<R: RawMutex, K: Copy + Eq, const N: usize, T: Trip> Upstream for View<'_, R, K, N, T> {
    fn policy(&self) -> &CallPolicy {
        self.policy
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        _tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let admitted = self.peers.with(|table| table.admit(now, self.key, lease, self.breaker));
        // A table that cannot be had guards nobody, like a full one.
        let permit = admitted.unwrap_or(Ok(Permit::UNTRACKED))?;
        Self::noted(permit.transition());
        Ok((Target::ONLY, permit))
    }

    fn record(&mut self, now: Instant, _target: Target, permit: Permit, report: &Report) {
        let verdict = self.breaker.verdict(report);
        let changed =
            self.peers.with(|table| table.record(now, self.key, permit, verdict, self.breaker));
        Self::noted(changed.flatten());
        if let Some(tokens) = self.tokens {
            tokens.record(report, self.policy.retry().codes());
        }
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        self.tokens.is_none_or(Tokens::allow)
    }

    fn renew(&mut self, now: Instant, _target: Target, permit: &Permit) {
        let _ = self.peers.with(|table| table.renew(now, self.key, permit, self.breaker));
    }
}
