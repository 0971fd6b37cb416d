//! This file knows what the end of an attempt means for its call.

use super::{
    Call, CallPolicy, Flight, NOT_REPLAYABLE, Next, PUSHED_BACK, PUT_OFF, Phase, REFUSED_ONCE,
    Upstream, short_mask,
};
use crate::retry::{Progress, Stop};
use crate::{Because, Code, Instant, Micros, Outcome, Pushback, Report, Sent, StopReason, Weight};

impl<const IN_FLIGHT: usize> Call<IN_FLIGHT> {
    /// Ends the attempts whose driver has let their deadline pass, as if it had completed them.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn expire<U: Upstream + ?Sized>(&mut self, now: Instant, upstream: &mut U) {
        let mut slot = 0;
        while let Some(flight) = self.flights.get(slot) {
            if flight.id != 0 && flight.deadline.is_over(now) {
                self.settle(now, upstream, slot, expired(upstream.policy()));
            }
            slot = slot.wrapping_add(1);
        }
    }

    /// Ends the flight in `slot`, which succeeded in time, and the call with it.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    pub(super) fn succeed<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        slot: usize,
        report: Report,
    ) -> Next {
        if let Some(flight) = self.flights.get_mut(slot) {
            let ended = core::mem::replace(flight, Flight::FREE);
            upstream.record(now, ended.target, ended.permit(), &report);
        }
        self.end(now, upstream, Stop::Succeeded);
        Next::Stop(StopReason::Succeeded)
    }

    /// Ends the flight in `slot`, books it, and decides what follows: why there is another attempt,
    /// if there is one.
    #[cfg_attr(target_pointer_width = "64", inline(never))]
    pub(super) fn settle<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        slot: usize,
        mut report: Report,
    ) -> Option<Because> {
        let ended = core::mem::replace(self.flights.get_mut(slot)?, Flight::FREE);
        let too_late = ended.deadline.is_over(now);
        if too_late {
            report.outcome = Outcome::new(Code::DeadlineExceeded);
        }
        if self.spend_repetition(&report.outcome) {
            report.weight = Weight::Transparent;
        } else if too_late && self.short & short_mask(slot) != 0 {
            report.weight = Weight::CutShort;
        }
        upstream.record(now, ended.target, ended.permit(), &report);
        if matches!(report.weight, Weight::Transparent) {
            // It was counted when it went out.
            self.counted = self.counted.wrapping_sub(1);
            // Two that were never sent are repeated by one; the other may follow as a hedge.
            let first = !matches!(self.phase, Phase::Ready);
            self.phase = Phase::Ready;
            return first.then_some(Because::Transparent);
        }
        self.decide(now, upstream, &report)
    }

    /// Uses up one of the repetitions that need not ask the retry policy, because it is certain that
    /// nothing was executed, and says whether there was one: never sent, at most three times in a
    /// row; refused, once per call.
    #[inline(always)]
    fn spend_repetition(&mut self, outcome: &Outcome) -> bool {
        if matches!(outcome.code, Code::Ok) || self.has(NOT_REPLAYABLE) {
            return false;
        }
        match outcome.sent {
            Sent::Never => {
                self.unsent = self.unsent.saturating_add(1);
                self.unsent <= MAX_UNSENT_IN_A_ROW
            }
            Sent::Refused => {
                self.unsent = 0;
                let first = !self.has(REFUSED_ONCE);
                self.flags |= REFUSED_ONCE;
                first
            }
            Sent::Maybe | Sent::NotConnected => {
                self.unsent = 0;
                false
            }
        }
    }

    fn decide<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        report: &Report,
    ) -> Option<Because> {
        match self.next(now, upstream, report) {
            Ok(because) => because,
            Err(stop) => {
                self.end(now, upstream, stop);
                None
            }
        }
    }

    fn next<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        report: &Report,
    ) -> Result<Option<Because>, Stop> {
        if report.is_success() {
            return Err(Stop::Succeeded);
        }
        let failed = &report.outcome;
        let so_far = Progress { attempts: self.counted, replayable: !self.has(NOT_REPLAYABLE) };
        let wanted = upstream.policy().retry().wants(failed, so_far);
        // One that is repeated without being asked for is as good as under way.
        let others = self.is_flying() || matches!(self.phase, Phase::Ready);
        if IN_FLIGHT > 1 && others && !matches!(wanted, Err(Stop::NotRetryable)) {
            self.move_hedge(now, failed.pushback, upstream.policy().retry().max_hint());
            return Ok(None);
        }
        wanted?;
        if IN_FLIGHT > 1 && self.has(PUSHED_BACK) {
            return Err(Stop::PushedBack);
        }
        if !upstream.retry_allowed(now) {
            return Err(Stop::Throttled);
        }
        let retry = upstream.policy().retry();
        let mut failed = report.outcome;
        if IN_FLIGHT > 1 && self.has(PUT_OFF) && matches!(failed.pushback, Pushback::None) {
            // Another attempt was told when to come again, and this one nothing.
            failed.pushback = Pushback::AtLeast(self.wake.since(now));
        }
        match retry.schedule(now, &failed, self.deadline, &mut self.growth, &mut self.rng) {
            Ok((at, because)) => {
                self.wake = at;
                self.phase = Phase::Waiting;
                Ok(Some(because))
            }
            Err(stop) => {
                if matches!(stop, Stop::HintTooLong) {
                    self.wake = Instant::from_micros(failed.pushback.wait().as_micros());
                }
                Err(stop)
            }
        }
    }

    /// A failure brings the next hedge forward, and a pushback puts it off or ends hedging (gRPC
    /// A6, "Summary of Retry and Hedging Logic").
    fn move_hedge(&mut self, now: Instant, pushback: Pushback, longest: Micros) {
        match pushback {
            Pushback::None if self.has(PUT_OFF) => {}
            Pushback::None => self.wake = now,
            Pushback::AtLeast(wait) | Pushback::Exactly(wait) if wait <= longest => {
                self.wake = now.after(wait);
                self.flags |= PUT_OFF;
            }
            // Longer than anybody waits is as good as never.
            Pushback::AtLeast(_) | Pushback::Exactly(_) | Pushback::Stop => {
                self.flags |= PUSHED_BACK;
            }
        }
    }

    /// Ends the call; what is still under way is given up without a verdict.
    pub(super) fn end<U: Upstream + ?Sized>(&mut self, now: Instant, upstream: &mut U, stop: Stop) {
        if IN_FLIGHT > 1 {
            // With room for one, what ended was it.
            self.book_the_late(now, upstream);
            self.give_up(now, upstream, 0);
        }
        self.phase = Phase::Ended(stop);
    }

    /// Gives up what is under way without a verdict, all but the attempt `kept`; no attempt is 0.
    pub(super) fn give_up<U: Upstream + ?Sized>(
        &mut self,
        now: Instant,
        upstream: &mut U,
        kept: u16,
    ) {
        for flight in self.flights.iter_mut().filter(|flight| flight.id != 0 && flight.id != kept) {
            let given_up = core::mem::replace(flight, Flight::FREE);
            upstream.record(now, given_up.target, given_up.permit(), &Report::CANCELLED);
        }
    }

    /// Books what has run into its deadline at the same time as the attempt that ended the call:
    /// it hangs, and would never speak against its target if only the first were booked.
    fn book_the_late<U: Upstream + ?Sized>(&mut self, now: Instant, upstream: &mut U) {
        let mut slot = 0;
        while let Some(flight) = self.flights.get_mut(slot) {
            if flight.id != 0 && flight.deadline.is_over(now) {
                let late = core::mem::replace(flight, Flight::FREE);
                let mut report = expired(upstream.policy());
                if self.short & short_mask(slot) != 0 {
                    report.weight = Weight::CutShort;
                }
                upstream.record(now, late.target, late.permit(), &report);
            }
            slot = slot.wrapping_add(1);
        }
    }

    /// What follows, seen from `now`: `because` says why there is another attempt.
    pub(super) const fn following(&self, now: Instant, because: Option<Because>) -> Next {
        match (self.phase, because) {
            (Phase::Ended(stop), _) => Next::Stop(self.reason(stop)),
            (_, Some(Because::Transparent)) => {
                Next::Retry { at: now, because: Because::Transparent }
            }
            (_, Some(because)) => Next::Retry { at: self.wake, because },
            (_, None) => Next::StillTrying,
        }
    }
}

/// The report of an attempt that nobody completed, which took as long as the policy gives it at most.
fn expired(policy: &CallPolicy) -> Report {
    Report { took: policy.attempt_timeout().shorter(policy.timeout()), ..Report::EXPIRED }
}

/// gRPC A6 repeats without end what never left the client. A connector that fails at once would
/// then spin until the deadline (grpc-go #5503), so it is bounded here.
const MAX_UNSENT_IN_A_ROW: u8 = 3;
