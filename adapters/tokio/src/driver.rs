//! This file knows how a call is begun under tokio, and how long a future may take.

use core::future::poll_fn;
use core::panic::AssertUnwindSafe;
use core::pin::pin;
use core::task::Poll;
use std::panic::catch_unwind;

use evenkeel_std::core::{Deadline, Outcome, Upstream};
use evenkeel_std::{Error, fresh_seed};

use crate::drive::{Begin, drive};
use crate::{AttemptInfo, sleep_until};

/// Makes attempts until one settles the call.
///
/// Each attempt is a future made anew by `attempt`, dropped at its deadline; `classify` says how
/// one ended. An `async` closure that borrows from where it is written serves; one that owns what
/// it uses (`async move`) can lend it only once, so borrow it from outside.
///
/// Dropping the returned future at any point gives the permit of the attempt under way back without
/// a verdict. A panic in `attempt` or `classify` makes that attempt a failure (`UNKNOWN`) before it
/// goes on its way. The jitter's seed comes from the operating system; for a reproducible run see
/// [`call_seeded`].
///
/// # Errors
///
/// [`Error`], in which the peer's last own error is never lost.
///
/// ```
/// use evenkeel_tokio::core::{BreakerPolicy, CallPolicy, Clock, Deadline, Outcome};
/// use evenkeel_tokio::{Shared, TokioClock, call};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let search = Shared::new(CallPolicy::DEFAULT).with_breaker(BreakerPolicy::DEFAULT);
/// let deadline = search.call_policy().deadline(TokioClock.now(), Deadline::NONE);
/// let classify = |reply: &Result<String, std::io::Error>| match reply {
///     Ok(_) => Outcome::success(),
///     Err(_) => Outcome::unavailable(),
/// };
/// let tries = std::cell::Cell::new(0);
///
/// let reply = call(search.view(), deadline, classify, async |attempt| {
///     tries.set(attempt.number());
///     if attempt.number() == 1 { Err(std::io::Error::other("reset")) } else { Ok("found".into()) }
/// })
/// .await;
/// assert_eq!(reply.unwrap(), "found");
/// assert_eq!(tries.get(), 2);
/// # }
/// ```
pub fn call<U, T, E, F>(
    upstream: U,
    deadline: Deadline,
    classify: impl Fn(&Result<T, E>) -> Outcome,
    attempt: impl Fn(AttemptInfo) -> F,
) -> impl Future<Output = Result<T, Error<E>>>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
{
    drive(Begin::By(deadline, fresh_seed()), upstream, classify, attempt)
}

/// Like [`call`], with the seed of its jitter: same seed and same answers, same call.
///
/// # Errors
///
/// As [`call`].
pub fn call_seeded<U, T, E, F>(
    seed: u32,
    upstream: U,
    deadline: Deadline,
    classify: impl Fn(&Result<T, E>) -> Outcome,
    attempt: impl Fn(AttemptInfo) -> F,
) -> impl Future<Output = Result<T, Error<E>>>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
{
    drive(Begin::By(deadline, seed), upstream, classify, attempt)
}

/// Like [`call`], within the time that the upstream's policy gives it, counted from the first
/// poll, and never beyond `caller`'s deadline. It reads the clock once less.
///
/// # Errors
///
/// As [`call`].
///
/// ```
/// use evenkeel_tokio::core::{BreakerPolicy, CallPolicy, Deadline, Outcome};
/// use evenkeel_tokio::{Shared, call_within};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let search = Shared::new(CallPolicy::DEFAULT).with_breaker(BreakerPolicy::DEFAULT);
/// let classify = |_: &Result<u32, std::io::Error>| Outcome::success();
/// let reply = call_within(search.view(), Deadline::NONE, classify, async |_| Ok(7)).await;
/// assert_eq!(reply.unwrap(), 7);
/// # }
/// ```
pub fn call_within<U, T, E, F>(
    upstream: U,
    caller: Deadline,
    classify: impl Fn(&Result<T, E>) -> Outcome,
    attempt: impl Fn(AttemptInfo) -> F,
) -> impl Future<Output = Result<T, Error<E>>>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
{
    drive(Begin::Within(caller, fresh_seed()), upstream, classify, attempt)
}

/// The output of `future`, or `None` once `deadline` has come first. The future is polled before
/// the clock is looked at; whether its answer came too late is the machine's to say.
pub async fn until<F: Future>(deadline: Deadline, future: F) -> Option<F::Output> {
    if deadline.is_none() {
        return Some(future.await);
    }
    let mut future = pin!(future);
    let mut timer = pin!(sleep_until(deadline.instant()));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => timer.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// The output of `future`, or the panic it ended in. The panic is resumed once the attempt is
/// booked, so nobody sees what it may have left half done.
pub(crate) async fn caught<F: Future>(future: F) -> std::thread::Result<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        polled.map_or_else(|panic| Poll::Ready(Err(panic)), |output| output.map(Ok))
    })
    .await
}
