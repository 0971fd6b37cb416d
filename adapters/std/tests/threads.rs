//! Many threads at one throttle and one breaker. Loom shows that no interleaving of two goes wrong;
//! this shows that the numbers hold for many.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Barrier;

use evenkeel_std::core::{
    BreakerPolicy, BreakerState, CodeSet, Consecutive, Deadline, Instant, Micros, Outcome, Report,
    ThrottlePolicy, Transition, Verdict, Weight, checked,
};
use evenkeel_std::{SharedBreaker, SharedThrottle};

/// Runs `body` on this many threads, all let go together.
fn together(threads: usize, body: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (barrier, body) = (&barrier, &body);
            scope.spawn(move || {
                barrier.wait();
                body(thread);
            });
        }
    });
}

/// Miri looks at every step a few hundred times longer, and needs fewer of them to find a race.
const fn times(rounds: u32) -> u32 {
    if cfg!(miri) { rounds.div_ceil(100) } else { rounds }
}

/// Load-then-store would spend a token twice.
#[test]
fn f65_a_thousand_tokens_are_a_thousand_grants() {
    const THOUSAND: ThrottlePolicy = checked!(ThrottlePolicy::success_refilled(1_000, 100));
    let (throttle, granted) = (SharedThrottle::new(THOUSAND), AtomicUsize::new(0));
    together(16, |_| {
        let mine = (0..times(10_000)).filter(|_| throttle.allow()).count();
        granted.fetch_add(mine, Ordering::Relaxed);
    });
    assert_eq!(granted.into_inner(), 1_000);
    assert_eq!(throttle.millitokens(), 0);
}

/// F65, the other way: no deposit is lost, to the thousandth of a token.
#[test]
fn every_success_is_paid_in() {
    const POLICY: ThrottlePolicy = checked!(ThrottlePolicy::grpc(1_000, 7));
    let throttle = SharedThrottle::new(POLICY);
    let report = |outcome| Report { outcome, took: Micros::ZERO, weight: Weight::Counts };
    let (good, bad) = (report(Outcome::success()), report(Outcome::unavailable()));
    (0..1_000).for_each(|_| throttle.record(&bad, CodeSet::RETRYABLE));
    assert_eq!(throttle.millitokens(), 0);
    together(16, |_| (0..times(5_000)).for_each(|_| throttle.record(&good, CodeSet::RETRYABLE)));
    assert_eq!(throttle.millitokens(), 16 * times(5_000) * 7);
}

/// F87: sixty-four callers at the very instant the open time ends, and one place.
#[test]
fn one_of_sixty_four_is_the_trial() {
    const POLICY: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(1)));
    for _ in 0..times(20) {
        let breaker = SharedBreaker::new();
        let permit = breaker.admit(Instant::ZERO, Deadline::NONE, &POLICY).unwrap();
        breaker.record(Instant::ZERO, permit, Verdict::Failure, &POLICY);
        let retry_at = breaker.snapshot().retry_at.unwrap();
        let let_out = AtomicUsize::new(0);
        together(64, |_| {
            let admitted = breaker.admit(retry_at, Deadline::NONE, &POLICY).is_ok();
            let_out.fetch_add(admitted.into(), Ordering::Relaxed);
        });
        assert_eq!(let_out.into_inner(), 1);
        assert_eq!(breaker.snapshot().trials, 1);
    }
}

/// F91: after any brawl, once it is quiet and the open time is over, a trial is let out; a state
/// that is open without a time to end cannot come about.
#[test]
fn after_a_brawl_there_is_a_way_back() {
    const POLICY: BreakerPolicy = checked!(
        BreakerPolicy::new(checked!(Consecutive::new(2))).with_open_for(Duration::from_micros(50))
    );
    let breaker = SharedBreaker::new();
    together(32, |thread| {
        for step in 0..times(30_000).into() {
            let now = Instant::from_micros(step);
            let lease = Deadline::at(Instant::from_micros(step + 20));
            let Ok(permit) = breaker.admit(now, lease, &POLICY) else { continue };
            let verdict = match (thread as u64 + step) % 5 {
                0 => continue, // lost
                1 | 2 => Verdict::Failure,
                3 => Verdict::Ignored,
                _ => Verdict::Success,
            };
            breaker.record(now, permit, verdict, &POLICY);
        }
    });
    let quiet = Instant::from_micros(1_000_000);
    let trial = breaker.admit(quiet, Deadline::NONE, &POLICY).unwrap();
    let closed = breaker.snapshot().state == BreakerState::Closed;
    let changed = breaker.record(quiet, trial, Verdict::Success, &POLICY);
    assert!(closed || changed == Some(Transition::Closed));
    assert_eq!(breaker.snapshot().failures, 0);
}
