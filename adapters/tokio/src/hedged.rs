//! This file knows how several attempts at one call are driven side by side under tokio.

use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::Poll;

use evenkeel_std::core::{
    Action, Attempt, Call, Clock, Deadline, Instant, Next, Outcome, Upstream,
};
use evenkeel_std::{Error, Ledger, fresh_seed};

use crate::drive::book;
use crate::driver::caught;
use crate::{AttemptInfo, Driven, TokioClock, sleep_until, until};

/// Like [`call`](crate::call), with up to five attempts at once: the upstream's policy says after
/// how long another is made beside those under way
/// ([`CallPolicy::with_hedge_after`](crate::core::CallPolicy::with_hedge_after)), and the first
/// reply wins. Only for what may be executed twice.
///
/// The attempts are polled in this future and never spawned; those that lose are dropped, and are
/// no verdict on their target. A failure whose code is retried brings the next attempt forward, any
/// other ends the call.
///
/// # Errors
///
/// As [`call`](crate::call).
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tokio::core::{Backoff, CallPolicy, Clock, Deadline, Outcome, RetryPolicy};
/// use evenkeel_tokio::{Shared, TokioClock, call_hedged};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), evenkeel_tokio::core::Invalid> {
/// let at_once = Backoff::new(Duration::ZERO, Duration::ZERO)?;
/// let policy = CallPolicy::DEFAULT
///     .with_retry(RetryPolicy::DEFAULT.with_max_attempts(2)?.with_backoff(at_once))
///     .with_hedge_after(Duration::from_millis(50))?;
/// let search = Shared::new(policy);
/// let deadline = policy.deadline(TokioClock.now(), Deadline::NONE);
/// let classify = |reply: &Result<u16, std::io::Error>| match reply {
///     Ok(_) => Outcome::success(),
///     Err(_) => Outcome::unavailable(),
/// };
///
/// let reply = call_hedged(search.view(), deadline, classify, async |attempt| {
///     if attempt.number() == 1 {
///         tokio::time::sleep(Duration::from_secs(3)).await; // a bad moment of that server
///     }
///     Ok(attempt.number())
/// });
/// assert_eq!(reply.await.unwrap(), 2);
/// # Ok(()) }
/// ```
pub async fn call_hedged<U, T, E, F>(
    upstream: U,
    deadline: Deadline,
    classify: impl Fn(&Result<T, E>) -> Outcome,
    attempt: impl Fn(AttemptInfo) -> F,
) -> Result<T, Error<E>>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
{
    let call = Call::<MOST>::with_room(deadline, fresh_seed());
    let mut driven = Driven::new(call, upstream);
    let mut ledger = Ledger::new();
    let run = async |info: AttemptInfo| {
        let reply = attempt(info).await;
        (classify(&reply), reply)
    };
    let mut flights = Vec::new();
    loop {
        let now = TokioClock.now();
        let mut until_at = match driven.poll_at(now) {
            Action::Attempt(next) => {
                let info = next.info();
                flights.push((next, Box::pin(until(info.deadline(), caught(run(info))))));
                continue;
            }
            Action::WaitUntil(at) => at,
            Action::Finish(reason) => return ledger.settle(now, reason),
        };
        while let Some((landed, ended)) = landing(&mut flights, until_at).await {
            // What else has ended by now is heard before anything more is sent.
            until_at = Instant::ZERO;
            let now = TokioClock.now();
            if let Next::Stop(reason) = book(&mut driven, &mut ledger, now, landed, ended) {
                return ledger.settle(now, reason);
            }
        }
    }
}

/// The first attempt that ends before `at`, and what it ended in.
async fn landing<F: Future>(
    flights: &mut Vec<(Attempt, Pin<Box<F>>)>,
    at: Instant,
) -> Option<(Attempt, F::Output)> {
    let mut timer = pin!(sleep_until(at));
    poll_fn(|cx| {
        for index in 0..flights.len() {
            if let Poll::Ready(ended) = flights[index].1.as_mut().poll(cx) {
                return Poll::Ready(Some((flights.remove(index).0, ended)));
            }
        }
        timer.as_mut().poll(cx).map(|()| None)
    })
    .await
}

/// As many as gRPC A6 allows.
const MOST: usize = 5;
