//! This file knows how a call is driven under tokio: the three-armed loop and one timer.

use core::mem::{forget, replace};
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::panic::{catch_unwind, resume_unwind};

use evenkeel_std::core::{
    Action, Attempt, Call, Clock, Code, Deadline, Instant, Next, Outcome, Upstream,
};
use evenkeel_std::{Error, Ledger};
use pin_project_lite::pin_project;

use crate::{AttemptInfo, Driven, SleepUntil, TokioClock, sleep_until};

/// What a call is given at its first poll, its jitter's seed among it.
pub(crate) enum Begin {
    By(Deadline, u32),
    Within(Deadline, u32),
}

/// A call, from its first poll on.
pub(crate) fn drive<U, T, E, F, C, A>(
    begin: Begin,
    upstream: U,
    classify: C,
    attempt: A,
) -> Driving<U, T, E, F, C, A>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
    C: Fn(&Result<T, E>) -> Outcome,
    A: Fn(AttemptInfo) -> F,
{
    let stage = Stage::Begins(begin, upstream);
    Driving { running: None, timer: sleep_until(Instant::MAX), stage, classify, attempt }
}

pin_project! {
    /// A call under way.
    ///
    /// Written by hand, because an async function keeps all it knows in its future. A call whose
    /// first attempt is answered at once, from memory or from a buffer, never waits: its machine
    /// then lives in registers, which is half of what it would cost.
    ///
    /// Dropped in this order, so that an attempt is gone before its permit is given back.
    pub(crate) struct Driving<U, T, E, F, C, A>
    where
        U: Upstream,
    {
        #[pin]
        running: Option<F>,
        #[pin]
        timer: SleepUntil,
        stage: Stage<U, T, E>,
        classify: C,
        attempt: A,
    }
}

enum Stage<U: Upstream, T, E> {
    Begins(Begin, U),
    Over,
    /// It waits for what this action asked for.
    Waits(Driven<U>, Ledger<T, E>, Action),
}

impl<U, T, E, F, C, A> Future for Driving<U, T, E, F, C, A>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
    C: Fn(&Result<T, E>) -> Outcome,
    A: Fn(AttemptInfo) -> F,
{
    type Output = Result<T, Error<E>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (begin, upstream) = match replace(self.as_mut().project().stage, Stage::Over) {
            Stage::Begins(begin, upstream) => (begin, upstream),
            Stage::Over => return Poll::Pending,
            Stage::Waits(driven, ledger, action) => return self.go_on(driven, ledger, action, cx),
        };
        let mut now = TokioClock.now();
        // The loop's first round by itself, with all that is known of a new call.
        let mut driven = Driven::new(begin.call(now, &upstream), upstream);
        let mut ledger = Ledger::new();
        let mut action = driven.poll_at(now);
        if let Action::Attempt(_) = action {
            let Poll::Ready(ended) = self.as_mut().fly(&mut driven, &mut action, cx) else {
                return self.wait(driven, ledger, action);
            };
            let Action::Attempt(attempt) = action else { return Poll::Pending };
            now = TokioClock.now();
            if let Next::Stop(reason) = book(&mut driven, &mut ledger, now, attempt, ended) {
                return Poll::Ready(ledger.settle(now, reason));
            }
            action = driven.poll_at(now);
        }
        self.go_on(driven, ledger, action, cx)
    }
}

impl Begin {
    #[inline]
    fn call(self, now: Instant, upstream: &impl Upstream) -> Call {
        let (deadline, seed) = match self {
            Self::By(deadline, seed) => (deadline, seed),
            Self::Within(caller, seed) => (upstream.policy().deadline(now, caller), seed),
        };
        Call::new(deadline, seed)
    }
}

impl<U, T, E, F, C, A> Driving<U, T, E, F, C, A>
where
    U: Upstream,
    F: Future<Output = Result<T, E>>,
    C: Fn(&Result<T, E>) -> Outcome,
    A: Fn(AttemptInfo) -> F,
{
    /// The three-armed loop.
    #[inline(never)]
    fn go_on(
        mut self: Pin<&mut Self>,
        mut driven: Driven<U>,
        mut ledger: Ledger<T, E>,
        mut action: Action,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, Error<E>>> {
        loop {
            let now = match action {
                Action::Attempt(_) => {
                    let Poll::Ready(ended) = self.as_mut().fly(&mut driven, &mut action, cx) else {
                        return self.wait(driven, ledger, action);
                    };
                    let Action::Attempt(attempt) = action else { return Poll::Pending };
                    // Read once, so that ledger and machine agree on what came too late.
                    let now = TokioClock.now();
                    if let Next::Stop(reason) = book(&mut driven, &mut ledger, now, attempt, ended)
                    {
                        return Poll::Ready(ledger.settle(now, reason));
                    }
                    now
                }
                Action::WaitUntil(at) => {
                    if self.as_mut().reaches(at, cx).is_pending() {
                        return self.wait(driven, ledger, action);
                    }
                    TokioClock.now()
                }
                Action::Finish(reason) => {
                    return Poll::Ready(ledger.settle(TokioClock.now(), reason));
                }
            };
            action = driven.poll_at(now);
        }
    }

    /// Polls the future of the attempt that `action` is, which is made first if there is none, and
    /// then looks at its deadline.
    #[inline(always)]
    fn fly(
        mut self: Pin<&mut Self>,
        driven: &mut Driven<U>,
        action: &mut Action,
        cx: &mut Context<'_>,
    ) -> Poll<Ended<T, E>> {
        let Action::Attempt(attempt) = &*action else { return Poll::Pending };
        let info = attempt.info();
        let watched = Watched { driven, action };
        let mut this = self.as_mut().project();
        if this.running.is_none() {
            let future = (this.attempt)(info);
            this.running.set(Some(future));
        }
        let polled = match this.running.as_mut().as_pin_mut() {
            Some(running) => running.poll(cx).map(|reply| ((this.classify)(&reply), reply)),
            None => Poll::Pending,
        };
        forget(watched);
        let ended = match polled {
            Poll::Ready(judged) => Some(Ok(judged)),
            Poll::Pending => {
                ready!(self.as_mut().reaches(info.deadline().instant(), cx));
                None
            }
        };
        self.project().running.set(None);
        Poll::Ready(ended)
    }

    /// Waits for `at`, by the one timer.
    fn reaches(self: Pin<&mut Self>, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if at == Instant::MAX {
            return Poll::Pending;
        }
        let mut timer = self.project().timer;
        if timer.at() != at {
            timer.set(sleep_until(at));
        }
        timer.poll(cx)
    }

    #[inline(never)]
    fn wait(
        self: Pin<&mut Self>,
        driven: Driven<U>,
        ledger: Ledger<T, E>,
        action: Action,
    ) -> Poll<Result<T, Error<E>>> {
        *self.project().stage = Stage::Waits(driven, ledger, action);
        Poll::Pending
    }
}

/// An attempt while the code of others runs. Dropped by a panic of theirs, it tells the machine:
/// without a verdict the attempt would pass for one whose caller went away.
///
/// Why is the panic not caught? All that is known of the call would then have to lie in memory.
struct Watched<'a, U: Upstream> {
    driven: &'a mut Driven<U>,
    action: &'a mut Action,
}

impl<U: Upstream> Drop for Watched<'_, U> {
    #[cold]
    fn drop(&mut self) {
        let action = replace(self.action, Action::WaitUntil(Instant::MAX));
        if let Action::Attempt(attempt) = action {
            // The upstream may panic too, and the two must not meet.
            _ = catch_unwind(AssertUnwindSafe(|| {
                self.driven.complete(TokioClock.now(), attempt, Outcome::new(Code::Unknown))
            }));
        }
    }
}

/// How an attempt ended: with a reply and what it was judged to be, in a panic, or at its deadline.
pub(crate) type Ended<T, E> = Option<std::thread::Result<(Outcome, Result<T, E>)>>;

/// Keeps what an attempt ended in, and tells the machine. A panic goes on its way once it is told:
/// so nobody sees what it may have left half done.
#[inline(always)]
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
