//! This file knows how threads share a breaker: one atomic word in front of the plain value.
//!
//! Every lock-free path only reads. Closed and healthy, an admission is one load and its success
//! another; open, a refusal is one load with the exact `retry_at`. Everything else takes the
//! mutex, runs the plain machine, and publishes its new gate in one store before it lets go, so
//! that no thread can see a state and a time that do not belong together.

use evenkeel_core::{
    BreakerPolicy, CircuitBreaker, Consecutive, Deadline, Gate, Instant, Passage, Permit, Rejected,
    Snapshot, Transition, Trip, Verdict,
};

use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// A [`CircuitBreaker`] that any number of threads may use at once.
///
/// ```
/// use evenkeel_core::{BreakerPolicy, Deadline, Instant, Verdict};
/// use evenkeel_std::SharedBreaker;
///
/// static POLICY: BreakerPolicy = BreakerPolicy::DEFAULT;
/// let breaker = SharedBreaker::new();
///
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             let now = Instant::ZERO;
///             let permit = breaker.admit(now, Deadline::NONE, &POLICY).unwrap();
///             breaker.record(now, permit, Verdict::Success, &POLICY);
///         });
///     }
/// });
/// assert_eq!(breaker.snapshot().failures, 0);
/// ```
#[derive(Debug)]
pub struct SharedBreaker<T: Trip = Consecutive> {
    /// A [`Gate`]; stored only under the lock.
    gate: AtomicU64,
    /// Made when it first has something to remember: most breakers of a table never do, and are
    /// then a third as large.
    plain: Mutex<Option<Box<CircuitBreaker<T>>>>,
}

impl SharedBreaker {
    /// A closed breaker with the [`Consecutive`] rule and nothing counted.
    pub fn new() -> Self {
        Self::closed()
    }
}

impl<T: Trip> SharedBreaker<T> {
    /// A closed breaker with the rule `T` and nothing counted.
    pub fn closed() -> Self {
        let gate = Gate::of(&CircuitBreaker::<T>::closed());
        Self { gate: AtomicU64::new(gate.to_bits()), plain: Mutex::new(None) }
    }

    /// Asks for leave, as [`CircuitBreaker::admit`] does.
    ///
    /// # Errors
    ///
    /// [`Rejected`], with the instant from which asking again makes sense.
    #[inline]
    pub fn admit(
        &self,
        now: Instant,
        lease: Deadline,
        policy: &BreakerPolicy<T>,
    ) -> Result<Permit, Rejected> {
        match self.gate().admit(now) {
            Passage::Granted(permit) => Ok(permit),
            Passage::Refused(rejected) => Err(rejected),
            Passage::Ask => self.ask(now, lease, policy),
        }
    }

    /// Books how an attempt ended, as [`CircuitBreaker::record`] does.
    #[inline]
    pub fn record(
        &self,
        now: Instant,
        permit: Permit,
        verdict: Verdict,
        policy: &BreakerPolicy<T>,
    ) -> Option<Transition> {
        if self.gate().ignores(&permit, verdict) {
            return None;
        }
        self.book(now, permit, verdict, policy)
    }

    /// Prolongs the lease of a trial, as [`CircuitBreaker::renew`] does.
    pub fn renew(&self, now: Instant, permit: &Permit, policy: &BreakerPolicy<T>) {
        // Trials are known to the breaker alone. Closed, every message of a stream would lock it.
        if matches!(self.gate().admit(now), Passage::Ask) {
            self.with(|breaker| breaker.renew(now, permit, policy));
        }
    }

    /// Refuses everything until reset, as [`CircuitBreaker::force_open`] does.
    pub fn force_open(&self) -> Option<Transition> {
        self.with(CircuitBreaker::force_open)
    }

    /// Disables it until reset, as [`CircuitBreaker::force_closed`] does.
    pub fn force_closed(&self) -> Option<Transition> {
        self.with(CircuitBreaker::force_closed)
    }

    /// Closes it with nothing counted, as [`CircuitBreaker::reset`] does.
    pub fn reset(&self) -> Option<Transition> {
        self.with(CircuitBreaker::reset)
    }

    /// What it looks like now. Changes nothing.
    pub fn snapshot(&self) -> Snapshot {
        self.look(CircuitBreaker::snapshot)
    }

    /// Whether it is closed and remembers no bad call.
    pub fn is_clean(&self) -> bool {
        self.look(CircuitBreaker::is_clean)
    }

    /// Whether it is open now, as far as can be told without the lock.
    pub(crate) fn refuses(&self, now: Instant) -> bool {
        matches!(self.gate().admit(now), Passage::Refused(_))
    }

    // What takes the lock is kept out of its callers: inlined, it would cost the calls that do not
    // take it three times their instructions, in registers saved and restored.
    #[inline(never)]
    fn ask(
        &self,
        now: Instant,
        lease: Deadline,
        policy: &BreakerPolicy<T>,
    ) -> Result<Permit, Rejected> {
        self.with(|breaker| breaker.admit(now, lease, policy))
    }

    #[inline(never)]
    fn book(
        &self,
        now: Instant,
        permit: Permit,
        verdict: Verdict,
        policy: &BreakerPolicy<T>,
    ) -> Option<Transition> {
        self.with(|breaker| breaker.record(now, permit, verdict, policy))
    }

    #[inline]
    fn gate(&self) -> Gate {
        Gate::from_bits(self.gate.load(Ordering::Acquire))
    }

    fn with<R>(&self, step: impl FnOnce(&mut CircuitBreaker<T>) -> R) -> R {
        let mut plain = lock(&self.plain);
        let breaker = plain.get_or_insert_with(|| Box::new(CircuitBreaker::closed()));
        let result = step(breaker);
        self.gate.store(Gate::of(breaker).to_bits(), Ordering::Release);
        result
    }

    fn look<R>(&self, at: impl FnOnce(&CircuitBreaker<T>) -> R) -> R {
        match &*lock(&self.plain) {
            Some(breaker) => at(breaker),
            None => at(&CircuitBreaker::closed()),
        }
    }
}

impl<T: Trip> Default for SharedBreaker<T> {
    fn default() -> Self {
        Self::closed()
    }
}
