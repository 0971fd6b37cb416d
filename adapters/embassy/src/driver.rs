//! This file knows how a call is driven under embassy: the three-armed loop and one timer.

use evenkeel_core::{
    Action, Call, Clock, Code, Deadline, Event, Instant, Next, Outcome, StopReason, Upstream,
};

use crate::clock::bounded;
use crate::error::Ledger;
use crate::exchange::Plain;
use crate::{AttemptInfo, EmbassyClock, Error, Exchange, log, sleep_until, until};

/// Makes attempts until one settles the call.
///
/// Each attempt is a future made anew by `attempt`, dropped at its deadline; `classify` says how
/// one ended. Where an attempt holds something that must be closed, such as a socket, use
/// [`call_with`]. `seed` decides the jitter; give every call its own ([`Seeds`](crate::Seeds)).
///
/// Dropping the returned future at any point gives the permit of the attempt under way back without
/// a verdict.
///
/// # Errors
///
/// [`Error`], in which the peer's last own error is never lost.
///
/// ```
/// use evenkeel_embassy::core::{CallPolicy, Clock, Deadline, Outcome, Single};
/// use evenkeel_embassy::{EmbassyClock, call};
///
/// static POLICY: CallPolicy = CallPolicy::DEFAULT;
///
/// async fn ask() -> u16 {
///     let deadline = POLICY.deadline(EmbassyClock.now(), Deadline::NONE);
///     let classify = |reply: &Result<u16, &str>| match reply {
///         Ok(_) => Outcome::success(),
///         Err(_) => Outcome::unavailable(),
///     };
///     let reply = call(7, Single::new(&POLICY), deadline, classify, async |attempt| {
///         if attempt.number() == 1 { Err("reset") } else { Ok(attempt.number()) }
///     });
///     reply.await.unwrap()
/// }
/// assert_eq!(simulated::run(ask()), 2);
/// ```
pub async fn call<T, E>(
    seed: u32,
    upstream: impl Upstream,
    deadline: Deadline,
    classify: impl Fn(&Result<T, E>) -> Outcome,
    attempt: impl AsyncFnMut(AttemptInfo) -> Result<T, E>,
) -> Result<T, Error<E>> {
    call_with(seed, upstream, deadline, &mut Plain::new(classify, attempt)).await
}

/// Like [`call`], with an [`Exchange`] that is told when an attempt is over and may close what it
/// holds.
///
/// The attempt is booked before it is closed, so a slow goodbye is no slow answer. It prolongs the
/// call by [`CLOSE_LIMIT`](crate::CLOSE_LIMIT) at most.
///
/// # Errors
///
/// As [`call`].
pub async fn call_with<X: Exchange>(
    seed: u32,
    upstream: impl Upstream,
    deadline: Deadline,
    exchange: &mut X,
) -> Result<X::Reply, Error<X::Error>> {
    drive(&mut Call::new(deadline, seed), upstream, exchange).await
}

/// Like [`call_with`], for a call that was made, and perhaps prepared, before.
///
/// # Errors
///
/// As [`call`].
pub async fn drive<X: Exchange>(
    call: &mut Call,
    upstream: impl Upstream,
    exchange: &mut X,
) -> Result<X::Reply, Error<X::Error>> {
    let mut driven = Driven { call, upstream };
    let mut ledger = Ledger::new();
    loop {
        let now = EmbassyClock.now();
        match driven.poll(now) {
            Action::Attempt(next) => {
                let reply = until(next.deadline(), exchange.attempt(next.info())).await;
                // Read once, so that ledger and machine agree on what came too late.
                let now = EmbassyClock.now();
                let outcome = match reply {
                    Some(reply) => {
                        let outcome = exchange.classify(&reply);
                        ledger.keep(now, &next, reply);
                        outcome
                    }
                    None => {
                        ledger.cut_off();
                        Outcome::new(Code::DeadlineExceeded)
                    }
                };
                let number = next.number();
                let following = driven.complete(now, next, outcome);
                log::ended(number, outcome.code, following);
                exchange.happened(Event::Ended(following));
                bounded(exchange.close()).await;
            }
            Action::WaitUntil(at) => sleep_until(at).await,
            Action::Finish(reason) => {
                finished(driven.call, reason);
                exchange.happened(Event::Stopped(reason));
                return ledger.settle(now, reason);
            }
        }
    }
}

/// Says why a call that made no attempt ended; the others have said so.
fn finished(call: &Call, reason: StopReason) {
    if call.attempts() == 0 {
        log::refused(reason);
    }
}

/// A call with the upstream it runs against and embassy's clock; cancelled when dropped.
struct Driven<'a, U: Upstream> {
    call: &'a mut Call,
    upstream: U,
}

impl<U: Upstream> Driven<'_, U> {
    fn poll(&mut self, now: Instant) -> Action {
        self.call.poll(now, &mut self.upstream)
    }

    fn complete(
        &mut self,
        now: Instant,
        attempt: evenkeel_core::Attempt,
        outcome: Outcome,
    ) -> Next {
        self.call.complete(now, &mut self.upstream, attempt, outcome)
    }
}

impl<U: Upstream> Drop for Driven<'_, U> {
    fn drop(&mut self) {
        self.call.cancel(EmbassyClock.now(), &mut self.upstream);
    }
}
