//! When attempts start, and how much time each is given.

use core::time::Duration;

use evenkeel_std::core::{
    CallPolicy, Clock, Code, CodeSet, Deadline, Micros, Outcome, Pushback, RetryPolicy, StopReason,
};
use evenkeel_std::{Error, ManualClock, Shared, call};

use crate::{Failed, Reply, UNAVAILABLE, policy, run, within};

fn stopped(reason: StopReason) -> Result<u32, Error<Failed>> {
    Err(Error::Peer { error: Failed(Code::Unavailable), reason })
}

/// R1, R3.
#[test]
fn it_tries_until_it_succeeds() {
    for failures in 0..3 {
        let (clock, shared) = (ManualClock::new(), Shared::new(policy(3, 100)));
        let peer = |number: u16| match number > failures {
            true => (0, Ok(number.into())),
            false => (0, UNAVAILABLE),
        };
        let ended = run(&clock, shared.view(), Deadline::NONE, peer);
        assert_eq!(ended.result, Ok(u32::from(failures) + 1));
        assert_eq!(ended.starts(), [0, 100, 300][..=usize::from(failures)]);
    }
}

/// R2, R37.
#[test]
fn it_stops_when_the_attempts_are_used_up() {
    for (attempts, starts, at) in [(1, vec![0], 10), (2, vec![0, 110], 120)] {
        let (clock, shared) = (ManualClock::new(), Shared::new(policy(attempts, 100)));
        let ended = run(&clock, shared.view(), within(&clock, 10_000), |_| (10, UNAVAILABLE));
        assert_eq!((ended.starts(), ended.at), (starts, at));
        assert_eq!(ended.result, stopped(StopReason::AttemptsUsedUp));
    }
}

/// R24.
#[test]
fn without_a_deadline_attempts_carry_none() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(2, 100)));
    let ended = run(&clock, shared.view(), Deadline::NONE, |_| (86_400_000, UNAVAILABLE));
    assert_eq!(ended.attempts, [(0, None), (86_400_100, None)]);
}

/// R25.
#[test]
fn each_attempt_is_given_what_is_left() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(4, 300)));
    let ended = run(&clock, shared.view(), within(&clock, 2_000), |_| (0, UNAVAILABLE));
    assert_eq!(ended.attempts, [(0, Some(2_000)), (300, Some(1_700)), (900, Some(1_100))]);
    assert_eq!((ended.at, ended.result), (900, stopped(StopReason::DeadlineWouldPass)));
}

/// R26.
#[test]
fn time_spent_in_attempts_counts() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(5, 100)));
    let ended = run(&clock, shared.view(), within(&clock, 10_000), |_| (50, UNAVAILABLE));
    let slices = [(0, 10_000), (150, 9_850), (400, 9_600), (850, 9_150), (1_700, 8_300)];
    assert_eq!(ended.attempts, slices.map(|(at, left)| (at, Some(left))));
    assert_eq!((ended.at, ended.result), (1_750, stopped(StopReason::AttemptsUsedUp)));
}

/// R27, R36, F25, F26: a wait that cannot end in time is not begun.
#[test]
fn a_doomed_wait_is_not_begun() {
    for (initial, timeout, starts, at) in
        [(100, 150, vec![0, 100], 100), (300, 250, vec![0], 0), (300, 300, vec![0], 0)]
    {
        let (clock, shared) = (ManualClock::new(), Shared::new(policy(4, initial)));
        let ended = run(&clock, shared.view(), within(&clock, timeout), |_| (0, UNAVAILABLE));
        assert_eq!((ended.starts(), ended.at), (starts, at));
        assert_eq!(ended.result, stopped(StopReason::DeadlineWouldPass));
    }
}

/// R23, F32, F33: an attempt that runs into its own limit is retried when the codes say so, after
/// the wait, and within the call's deadline.
#[test]
fn an_attempt_has_a_limit_of_its_own() {
    let retry = RetryPolicy::DEFAULT.with_codes(CodeSet::RETRYABLE.with(Code::DeadlineExceeded));
    let policy = policy(4, 1_000);
    let policy = policy.with_retry(retry.with_backoff(*policy.retry().backoff()));
    let policy = policy.with_attempt_timeout(Duration::from_secs(1)).unwrap();
    let (clock, shared) = (ManualClock::new(), Shared::new(policy));

    let hangs = |number| (if number < 3 { 1_000 } else { 10 }, Ok(u32::from(number)));
    let ended = run(&clock, shared.view(), within(&clock, 10_000), hangs);
    assert_eq!(ended.attempts, [0, 2_000, 5_000].map(|at| (at, Some(1_000))));
    assert_eq!((ended.at, ended.result), (5_010, Ok(3)));

    let ended = run(&clock, shared.view(), within(&clock, 400), |_| (400, Ok(1)));
    assert_eq!(ended.attempts, [(0, Some(400))]);
    assert_eq!((ended.at, ended.result), (400, Err(Error::DeadlineExceeded { last: None })));
}

/// R4, R6, R9, R28.
#[test]
fn only_the_codes_of_the_set_are_tried_again() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(4, 100)));
    let codes = [Code::Unavailable, Code::ResourceExhausted, Code::NotFound];
    let peer = |number| (0, Err(Failed(codes[usize::from(number) - 1])));
    let ended = run(&clock, shared.view(), Deadline::NONE, peer);
    assert_eq!((ended.starts(), ended.at), (vec![0, 100, 300], 300));
    let reason = StopReason::NotRetryable;
    assert_eq!(ended.result, Err(Error::Peer { error: Failed(Code::NotFound), reason }));
}

/// A peer's wish is waited for exactly, and one for never is final.
#[test]
fn what_the_peer_asks_for_is_done() {
    let shared = Shared::new(policy(4, 100));
    let clock = ManualClock::new();
    let mut wishes =
        [Pushback::Exactly(Micros::from_millis(120)), Pushback::Stop].into_iter().cycle();
    let wish = core::cell::Cell::new(Pushback::None);
    let mut tries = 0;
    let result = call(
        &clock,
        shared.view(),
        Deadline::NONE,
        7,
        |_: &Reply| Outcome::unavailable().with_pushback(wish.get()),
        |_| {
            tries += 1;
            wish.set(wishes.next().unwrap());
            UNAVAILABLE
        },
    );
    assert_eq!((tries, result), (2, stopped(StopReason::PushedBack)));
    assert_eq!(clock.now().as_micros(), 120_000);
}

#[test]
fn the_same_seed_gives_the_same_call() {
    let shared = Shared::new(CallPolicy::DEFAULT);
    let waits = |seed| {
        let clock = ManualClock::new();
        let reply = |_: &Reply| Outcome::unavailable();
        let _ = call(&clock, shared.view(), Deadline::NONE, seed, reply, |_| UNAVAILABLE);
        clock.now()
    };
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
}
