//! This file knows the words for what the core decides.
//!
//! Nothing here is called while anything is locked. Without the feature `defmt` there are no words,
//! and nothing of this is linked.

use evenkeel_core::{Because, Code, Escalation, Next, Setback, StopReason, Transition};

/// An attempt ended.
pub(crate) fn ended(number: u16, code: Code, next: Next) {
    match next {
        Next::Retry { at, because } => says::retry(number, code, at, why(because)),
        Next::Stop(StopReason::Succeeded) => says::succeeded(number),
        Next::Stop(reason) => says::stopped(number, code, stop(reason)),
        Next::StillTrying => {}
    }
}

/// A call ended without an attempt.
pub(crate) fn refused(reason: StopReason) {
    match reason {
        StopReason::CircuitOpen { retry_at } => says::open(retry_at),
        _ => says::refused(stop(reason)),
    }
}

/// A breaker changed its state.
pub(crate) fn changed(changed: Transition) {
    match changed {
        Transition::Closed => says::breaker("closed: the peer answers again"),
        Transition::ForcedClosed => says::breaker("forced closed: it counts nothing"),
        Transition::ForcedOpen => says::breaker("forced open: nothing is let through"),
        Transition::HalfOpened => says::breaker("half open: one attempt tries the peer"),
        Transition::Opened => says::opened("open: too many failures, the peer is left alone"),
    }
}

/// A session is up.
pub(crate) fn connected() {
    says::link("connected");
}

/// A dial failed or a session ended.
pub(crate) fn set_back(setback: Setback) {
    says::set_back(setback);
}

/// The ladder was climbed.
pub(crate) fn escalated(step: Escalation) {
    says::climbed(match step {
        Escalation::Reboot => "still down: rebooting",
        Escalation::ResetPeripheral => "still down: resetting the peripheral",
    });
}

const fn why(because: Because) -> &'static str {
    match because {
        Because::Backoff => "as the policy's backoff says",
        Because::Hint => "because the peer asked for at least that",
        Because::Pushback => "because the peer asked for exactly that",
        Because::Transparent => "at once, because nothing was sent",
    }
}

const fn stop(reason: StopReason) -> &'static str {
    match reason {
        StopReason::AttemptsUsedUp => "all attempts were used up",
        StopReason::Cancelled => "the caller went away",
        StopReason::CircuitOpen { .. } => "the circuit breaker is open",
        StopReason::DeadlinePassed => "the deadline has passed",
        StopReason::DeadlineWouldPass => "the wait before a retry would have reached the deadline",
        StopReason::HintTooLong { .. } => "the peer asked for a wait longer than max_hint",
        StopReason::NoTarget => "there is no eligible target",
        StopReason::NotIdempotent => "it may have been executed and is not idempotent",
        StopReason::NotReplayable => "the request cannot be sent a second time",
        StopReason::NotRetryable => "the code is not retryable",
        StopReason::PushedBack => "the peer asked not to be tried again",
        StopReason::Succeeded => "it succeeded",
        StopReason::Throttled => "retries are throttled",
    }
}

#[cfg(feature = "defmt")]
mod says {
    use evenkeel_core::{Code, Instant, Setback};

    pub(super) fn retry(number: u16, code: Code, at: Instant, why: &str) {
        let at = at.as_micros();
        defmt::warn!("attempt {} ended in {}; again at {=u64:us}, {=str}", number, code, at, why);
    }

    pub(super) fn succeeded(number: u16) {
        defmt::debug!("attempt {} succeeded", number);
    }

    pub(super) fn stopped(number: u16, code: Code, why: &str) {
        defmt::warn!("attempt {} ended in {}; no other: {=str}", number, code, why);
    }

    pub(super) fn refused(why: &str) {
        defmt::warn!("no attempt was made: {=str}", why);
    }

    pub(super) fn open(again: Instant) {
        let again = again.as_micros();
        defmt::warn!("no attempt was made: the circuit breaker is open; again at {=u64:us}", again);
    }

    pub(super) fn breaker(what: &str) {
        defmt::info!("circuit {=str}", what);
    }

    pub(super) fn opened(what: &str) {
        defmt::warn!("circuit {=str}", what);
    }

    pub(super) fn link(what: &str) {
        defmt::info!("link {=str}", what);
    }

    pub(super) fn climbed(what: &str) {
        defmt::error!("link {=str}", what);
    }

    pub(super) fn set_back(setback: Setback) {
        let (failures, at) = (setback.failures, setback.dial_at.as_micros());
        defmt::warn!("link down, {} failures in a row; dialled again at {=u64:us}", failures, at);
    }
}

#[cfg(not(feature = "defmt"))]
mod says {
    use evenkeel_core::{Code, Instant, Setback};

    pub(super) const fn retry(_number: u16, _code: Code, _at: Instant, _why: &str) {}

    pub(super) const fn succeeded(_number: u16) {}

    pub(super) const fn stopped(_number: u16, _code: Code, _why: &str) {}

    pub(super) const fn refused(_why: &str) {}

    pub(super) const fn open(_again: Instant) {}

    pub(super) const fn breaker(_what: &str) {}

    pub(super) const fn opened(_what: &str) {}

    pub(super) const fn link(_what: &str) {}

    pub(super) const fn climbed(_what: &str) {}

    pub(super) const fn set_back(_setback: Setback) {}
}
