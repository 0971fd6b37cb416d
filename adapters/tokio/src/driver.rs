//! This file knows how a call is driven under tokio: the three-armed loop and one timer.

use core::future::poll_fn;
use core::panic::AssertUnwindSafe;
use core::pin::pin;
use core::task::Poll;
use std::panic::{catch_unwind, resume_unwind};

use evenkeel_std::core::{
    Action, Attempt, Call, Clock, Code, Deadline, Instant, Next, Outcome, Upstream,
};
use evenkeel_std::{Error, Ledger, fresh_seed};

use crate::{AttemptInfo, TokioClock, sleep_until};

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

/// What a call is given at its first poll, its jitter's seed among it.
enum Begin {
    By(Deadline, u32),
    Within(Deadline, u32),
}

/// The three-armed loop. Not a loop in an async function of its caller's: one within the other
/// moves the call from one to the other.
async fn drive<U, T, E, F>(
    begin: Begin,
    upstream: U,
    classify: impl Fn(&Result<T, E>) -> Outcome,
    attempt: impl Fn(AttemptInfo) -> F,
) -> Result<T, Error<E>>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
{
    let mut now = TokioClock.now();
    let call = match begin {
        Begin::By(deadline, seed) => Call::new(deadline, seed),
        Begin::Within(caller, seed) => Call::new(upstream.policy().deadline(now, caller), seed),
    };
    let mut driven = Driven::new(call, upstream);
    let mut ledger = Ledger::new();
    loop {
        match driven.poll_at(now) {
            Action::Attempt(next) => {
                let info = AttemptInfo::from(&next);
                let ended = {
                    // In its place from the start: to move it costs more than to decide.
                    let code = pin!(async {
                        let reply = attempt(info).await;
                        (classify(&reply), reply)
                    });
                    until(next.deadline(), caught(code)).await
                };
                // Read once, so that ledger and machine agree on what came too late.
                now = TokioClock.now();
                if let Next::Stop(reason) = book(&mut driven, &mut ledger, now, next, ended) {
                    return ledger.settle(reason);
                }
            }
            Action::WaitUntil(at) => {
                sleep_until(at).await;
                now = TokioClock.now();
            }
            Action::Finish(reason) => return ledger.settle(reason),
        }
    }
}

/// How an attempt ended: with a reply and what it was judged to be, in a panic, or at its deadline.
pub(crate) type Ended<T, E> = Option<std::thread::Result<(Outcome, Result<T, E>)>>;

/// Keeps what an attempt ended in, and tells the machine. A panic goes on its way once it is told.
pub(crate) fn book<U: Upstream, T, E, const IN_FLIGHT: usize>(
    driven: &mut Driven<U, IN_FLIGHT>,
    ledger: &mut Ledger<T, E>,
    now: Instant,
    attempt: Attempt,
    ended: Ended<T, E>,
) -> Next {
    let outcome = match ended {
        Some(Ok((outcome, reply))) => {
            ledger.keep(now, &attempt, reply);
            outcome
        }
        Some(Err(panic)) => {
            driven.complete(now, attempt, Outcome::new(Code::Unknown));
            resume_unwind(panic);
        }
        None => {
            ledger.cut_off();
            Outcome::new(Code::DeadlineExceeded)
        }
    };
    driven.complete(now, attempt, outcome)
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

/// A [`Call`] with the upstream it runs against and tokio's clock; cancelled when dropped.
///
/// For adapters that need more than [`call`]: it is the loop's three arms as methods. A drop is no
/// verdict, whatever it was dropped for; an adapter that runs code which may panic catches the
/// panic and completes the attempt with `UNKNOWN`, as [`call`] does.
#[derive(Debug)]
pub struct Driven<U: Upstream, const IN_FLIGHT: usize = 1> {
    call: Call<IN_FLIGHT>,
    upstream: U,
    /// Whether the machine has said so: then there is nothing to cancel, nor a clock to read.
    over: bool,
}

impl<U: Upstream, const IN_FLIGHT: usize> Driven<U, IN_FLIGHT> {
    /// Takes `call` over.
    pub const fn new(call: Call<IN_FLIGHT>, upstream: U) -> Self {
        Self { call, upstream, over: false }
    }

    /// [`Call::poll`] now.
    pub fn poll(&mut self) -> Action {
        self.poll_at(TokioClock.now())
    }

    /// [`Call::poll`] at `now`, which the clock has just said.
    #[inline]
    pub fn poll_at(&mut self, now: Instant) -> Action {
        let action = self.call.poll(now, &mut self.upstream);
        self.over |= matches!(action, Action::Finish(_));
        action
    }

    /// [`Call::complete`] at `now`.
    #[inline]
    pub fn complete(&mut self, now: Instant, attempt: Attempt, outcome: Outcome) -> Next {
        let next = self.call.complete(now, &mut self.upstream, attempt, outcome);
        self.over |= matches!(next, Next::Stop(_));
        next
    }

    /// [`Call::commit`] now.
    pub fn commit(&mut self, attempt: &Attempt) {
        self.call.commit(TokioClock.now(), &mut self.upstream, attempt);
    }

    /// [`Call::cancel`] now.
    pub fn cancel(&mut self) {
        if !core::mem::replace(&mut self.over, true) {
            self.call.cancel(TokioClock.now(), &mut self.upstream);
        }
    }

    /// The call itself.
    pub const fn call(&self) -> &Call<IN_FLIGHT> {
        &self.call
    }

    /// The call itself, to change what it may do.
    pub const fn call_mut(&mut self) -> &mut Call<IN_FLIGHT> {
        &mut self.call
    }

    /// What it runs against.
    pub const fn upstream(&self) -> &U {
        &self.upstream
    }

    /// What it runs against, to take what a step changed.
    pub const fn upstream_mut(&mut self) -> &mut U {
        &mut self.upstream
    }
}

impl<U: Upstream, const IN_FLIGHT: usize> Drop for Driven<U, IN_FLIGHT> {
    fn drop(&mut self) {
        self.cancel();
    }
}
