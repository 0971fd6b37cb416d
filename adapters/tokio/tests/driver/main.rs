//! The async driver under tokio's paused clock: nothing here waits for real.

mod drops;
mod futures;
mod hedged;
mod panics;
mod race;
mod schedule;

use core::cell::RefCell;
use core::time::Duration;

use evenkeel_tokio::core::{
    Backoff, BreakerPolicy, CallPolicy, Clock, Code, Consecutive, Deadline, Instant, Jitter,
    Micros, Outcome, RetryPolicy, Snapshot, Upstream,
};
use evenkeel_tokio::{Error, Shared, TokioClock, call_seeded};
use tokio::time::sleep;

/// What the peer says when it fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Failed(Code);

type Reply = Result<u32, Failed>;

const UNAVAILABLE: Reply = Err(Failed(Code::Unavailable));

fn classify(reply: &Reply) -> Outcome {
    Outcome::new(reply.map_or_else(|Failed(code)| code, |_| Code::Ok))
}

/// A call that has ended, in milliseconds of the paused clock.
#[derive(Debug, Eq, PartialEq)]
struct Ended {
    /// When each attempt started, and how much time it was given; `None` without limit.
    attempts: Vec<(u64, Option<u64>)>,
    at: u64,
    result: Result<u32, Error<Failed>>,
}

impl Ended {
    fn starts(&self) -> Vec<u64> {
        self.attempts.iter().map(|(at, _)| *at).collect()
    }
}

/// Runs a call that starts now, whose n-th attempt is `peer(n)`.
async fn run(
    upstream: impl Upstream,
    deadline: Deadline,
    peer: impl AsyncFn(u16) -> Reply,
) -> Ended {
    let began = TokioClock.now();
    let attempts = RefCell::new(Vec::new());
    let result = call_seeded(7, upstream, deadline, classify, async |attempt| {
        let left = attempt.deadline().remaining(TokioClock.now());
        let left = (left < Micros::MAX).then_some(left.as_micros() / 1_000);
        attempts.borrow_mut().push((since(began), left));
        peer(attempt.number()).await
    })
    .await;
    Ended { attempts: attempts.into_inner(), at: since(began), result }
}

fn since(began: Instant) -> u64 {
    TokioClock.now().since(began).as_micros() / 1_000
}

/// An answer that takes a while.
async fn after(millis: u64, reply: Reply) -> Reply {
    sleep(Duration::from_millis(millis)).await;
    reply
}

fn within(millis: u64) -> Deadline {
    Deadline::after(TokioClock.now(), Duration::from_millis(millis))
}

/// `attempts` in ten seconds, the first wait `initial` milliseconds, doubling, without jitter.
fn policy(attempts: u16, initial: u64) -> CallPolicy {
    let backoff = Backoff::new(Duration::from_millis(initial), Duration::from_secs(10)).unwrap();
    let backoff = backoff.with_jitter(Jitter::None).unwrap();
    let retry = RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap().with_backoff(backoff);
    CallPolicy::DEFAULT.with_retry(retry)
}

/// Opens at the `threshold`-th failure, for ten seconds.
fn guarded(policy: CallPolicy, threshold: u16) -> Shared {
    let breaker = BreakerPolicy::new(Consecutive::new(threshold).unwrap());
    Shared::new(policy).with_breaker(breaker.with_open_for(Duration::from_secs(10)).unwrap())
}

fn state(shared: &Shared) -> Snapshot {
    shared.breaker().unwrap()
}

/// One whose open time is just over: the next attempt is the trial.
async fn due(policy: CallPolicy) -> Shared {
    let shared = guarded(policy, 1);
    run(shared.view(), Deadline::NONE, async |_| Err(Failed(Code::Internal))).await;
    let retry_at = state(&shared).retry_at.unwrap();
    evenkeel_tokio::sleep_until(retry_at).await;
    shared
}
