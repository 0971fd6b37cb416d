//! This file knows when an attempt goes out: the next one, or one more beside those under way.

use super::{
    Action, Attempt, AttemptInfo, Call, Flight, NOT_REPLAYABLE, PUSHED_BACK, PUT_OFF, Phase,
    Upstream, WAIT_FOR_READY, short_mask,
};
use crate::retry::Stop;
use crate::{Deadline, Instant, Micros, Refusal};

impl<const IN_FLIGHT: usize> Call<IN_FLIGHT> {
    /// Starts the next attempt, or says why there is none.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn start<U: Upstream + ?Sized>(&mut self, now: Instant, upstream: &mut U) -> Action {
        match self.launch(now, upstream) {
            Ok(attempt) => {
                self.phase = Phase::Trying;
                Action::Attempt(attempt)
            }
            Err(refused) => self.not_started(now, upstream, refused),
        }
    }

    #[cfg_attr(target_pointer_width = "64", inline(never))]
    fn not_started<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        refused: Stop,
    ) -> Action {
        if IN_FLIGHT > 1 && self.is_flying() {
            // What could not be repeated at once is no end while another attempt is under way.
            self.phase = Phase::Trying;
            return self.keep_trying(now, upstream);
        }
        if matches!(refused, Stop::NoTarget) && self.has(WAIT_FOR_READY) {
            self.phase = Phase::Ready;
            return Action::WaitUntil(self.deadline.instant());
        }
        self.end(now, upstream, refused);
        Action::Finish(self.reason(refused))
    }

    #[cfg_attr(target_pointer_width = "64", inline(never))]
    pub(super) fn keep_trying<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
    ) -> Action {
        if now >= self.wake && self.may_hedge(upstream) {
            // A hedge that may not go is dropped, and is no end: the others are under way.
            if upstream.retry_allowed(now)
                && let Ok(attempt) = self.launch(now, upstream)
            {
                return Action::Attempt(attempt);
            }
            self.wake = Instant::MAX;
        }
        let mut at = if self.may_hedge(upstream) { self.wake } else { Instant::MAX };
        for flight in self.flights.iter().filter(|flight| flight.id != 0) {
            if flight.deadline.is_none() {
                upstream.renew(now, flight.target, &flight.permit());
            }
            let until = flight.deadline.instant();
            at = if IN_FLIGHT > 1 { at.min(until) } else { until };
        }
        Action::WaitUntil(at)
    }

    fn may_hedge<U: Upstream + ?Sized>(&self, upstream: &U) -> bool {
        let policy = upstream.policy();
        // Known when it is compiled: a call with one attempt at a time carries no hedging.
        IN_FLIGHT > 1
            && self.slot_of(0).is_some()
            && self.counted < policy.retry().max_attempts()
            && policy.retry().is_idempotent()
            && upstream.hedge_after() < Micros::MAX
            && !self.has(NOT_REPLAYABLE | PUSHED_BACK)
    }

    /// Starts an attempt if time, target and breaker allow.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn launch<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
    ) -> Result<Attempt, Stop> {
        if self.deadline.is_over(now) {
            return Err(Stop::DeadlinePassed);
        }
        let Some(slot) = self.slot_of(0).filter(|_| self.started < u16::MAX) else {
            return Err(Stop::AttemptsUsedUp);
        };
        let limit = Deadline::at(now.after(upstream.policy().attempt_timeout()));
        let deadline = self.deadline.earlier(limit);
        let lease = Deadline::at(deadline.instant().after(LEASE_GRACE));
        let (target, permit) = match upstream.admit(now, lease, self.tried) {
            Ok(admitted) => admitted,
            Err(Refusal::NoTarget) => return Err(Stop::NoTarget),
            Err(Refusal::CircuitOpen { retry_at }) => {
                // While another attempt is under way this is no end, and `wake` is the next hedge's.
                if IN_FLIGHT == 1 || !self.is_flying() {
                    self.wake = retry_at;
                }
                return Err(Stop::CircuitOpen);
            }
        };
        // Neither can overflow: `started` was looked at above, and `counted` is not ahead of it.
        self.started = self.started.wrapping_add(1);
        self.counted = self.counted.wrapping_add(1);
        self.tried = self.tried.with(target);
        if IN_FLIGHT > 1 {
            self.wake = now.after(upstream.hedge_after());
            self.flags &= !PUT_OFF;
        }
        let mask = short_mask(slot);
        let cut_short = deadline.instant() < now.after(upstream.policy().normal_slice());
        let others = if IN_FLIGHT > 1 { self.short & !mask } else { 0 };
        self.short = others | if cut_short { mask } else { 0 };
        let id = self.started;
        if let Some(flight) = self.flights.get_mut(slot) {
            *flight = Flight { deadline, epoch: permit.epoch(), target, id };
        }
        Ok(Attempt(AttemptInfo { deadline, started: now, id, number: self.counted, target }))
    }
}

/// For how long behind its deadline an attempt may still be booked. It ends there by a timer, and no
/// timer is early: a trial whose lease ended at that very instant would be lost as often as others
/// ask at the same time, and what hangs would be tried again and again and never reopen its circuit.
const LEASE_GRACE: Micros = Micros::from_millis(1_000);
