//! The blocking driver, on a clock that moves when it is slept on.

mod ending;
mod guarded;
mod panics;
mod schedule;

use core::fmt;
use core::time::Duration;

use evenkeel_std::core::{
    Backoff, CallPolicy, Clock, Code, Deadline, Instant, Jitter, Micros, Outcome, RetryPolicy,
    Upstream,
};
use evenkeel_std::{Error, ManualClock, call};

/// What the peer says when it fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Failed(Code);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer said {}", self.0)
    }
}

impl core::error::Error for Failed {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&Cause)
    }
}

/// Why it failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Cause;

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("disk full")
    }
}

impl core::error::Error for Cause {}

type Reply = Result<u32, Failed>;

const UNAVAILABLE: Reply = Err(Failed(Code::Unavailable));

fn classify(reply: &Reply) -> Outcome {
    Outcome::new(reply.map_or_else(|Failed(code)| code, |_| Code::Ok))
}

/// A call that has ended, in milliseconds of its clock.
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

/// Runs a call that starts now. `peer` says how many milliseconds its n-th answer takes, and what
/// it is.
fn run(
    clock: &ManualClock,
    upstream: impl Upstream,
    deadline: Deadline,
    peer: impl Fn(u16) -> (u64, Reply),
) -> Ended {
    let began = clock.now();
    let since = |instant: Instant| instant.since(began).as_micros() / 1_000;
    let mut attempts = Vec::new();
    let result = call(clock, upstream, deadline, 7, classify, |attempt| {
        let left = attempt.deadline().remaining(clock.now());
        let left = (left < Micros::MAX).then_some(left.as_micros() / 1_000);
        attempts.push((since(clock.now()), left));
        let (takes, reply) = peer(attempt.number());
        clock.advance(Duration::from_millis(takes));
        reply
    });
    Ended { attempts, at: since(clock.now()), result }
}

/// `attempts` in ten seconds, the first wait `initial` milliseconds, doubling, without jitter.
fn policy(attempts: u16, initial: u64) -> CallPolicy {
    let backoff = Backoff::new(Duration::from_millis(initial), Duration::from_secs(10)).unwrap();
    let backoff = backoff.with_jitter(Jitter::None).unwrap();
    let retry = RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap().with_backoff(backoff);
    CallPolicy::DEFAULT.with_retry(retry)
}

fn within(clock: &ManualClock, millis: u64) -> Deadline {
    Deadline::after(clock.now(), Duration::from_millis(millis))
}
