//! A panic in the caller's own code loses no permit and bricks nothing.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use evenkeel_std::core::{
    BreakerPolicy, BreakerState, Consecutive, Deadline, Instant, Transition, Trip, Verdict,
};
use evenkeel_std::{ManualClock, Shared, SharedBreaker, call};

use crate::{Failed, Reply, UNAVAILABLE, classify, policy, run};

fn guarded(threshold: u16) -> Shared {
    let rule = Consecutive::new(threshold).unwrap();
    Shared::new(policy(1, 100)).with_breaker(BreakerPolicy::new(rule))
}

/// Runs a call whose attempt, or whose classifier, panics.
fn panics(clock: &ManualClock, shared: &Shared, in_attempt: bool) {
    let judge = |reply: &Reply| if in_attempt { classify(reply) } else { panic!("no such reply") };
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        call(clock, shared.view(), Deadline::NONE, 7, judge, |_| {
            if in_attempt { panic!("no such peer") } else { Ok(1) }
        })
    }));
    let message = *unwound.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, if in_attempt { "no such peer" } else { "no such reply" });
}

#[test]
fn f93_ten_calls_work_after_a_panic() {
    for in_attempt in [true, false] {
        let (clock, shared) = (ManualClock::new(), guarded(2));
        panics(&clock, &shared, in_attempt);
        assert_eq!(shared.breaker().unwrap().failures, 1, "it counts as a failure");
        for _ in 0..10 {
            assert_eq!(run(&clock, shared.view(), Deadline::NONE, |_| (0, Ok(1))).result, Ok(1));
        }
        assert_eq!(shared.breaker().unwrap().failures, 0);
    }
}

/// F83 d: the trial's place is free again at once, and nobody waits for a lease.
#[test]
fn a_trial_that_panics_has_failed() {
    for in_attempt in [true, false] {
        let (clock, shared) = (ManualClock::new(), guarded(1));
        run(&clock, shared.view(), Deadline::NONE, |_| (0, UNAVAILABLE));
        clock.advance(core::time::Duration::from_secs(60));
        panics(&clock, &shared, in_attempt);
        let snapshot = shared.breaker().unwrap();
        assert_eq!((snapshot.state, snapshot.reopenings), (BreakerState::Open, 1));
        clock.advance(core::time::Duration::from_secs(60));
        let ended = run(&clock, shared.view(), Deadline::NONE, |_| (0, Ok(1)));
        assert_eq!(ended.result, Ok::<_, evenkeel_std::Error<Failed>>(1));
        assert_eq!(shared.breaker().unwrap().state, BreakerState::Closed);
    }
}

/// Who panics inside the lock leaves a poisoned mutex behind, and the breaker goes on.
#[test]
fn a_rule_that_panics_does_not_poison_the_breaker() {
    #[derive(Clone, Copy, Debug)]
    struct Touchy;
    impl Trip for Touchy {
        type Memory = u16;
        const EMPTY: u16 = 0;
        fn count(&self, memory: &mut u16, now: Instant, verdict: Verdict) -> bool {
            assert!(verdict != Verdict::SlowFailure, "too slow for me");
            Consecutive::DEFAULT.count(memory, now, verdict)
        }
        fn bad(memory: &u16) -> u16 {
            *memory
        }
        fn is_quiet(memory: &u16) -> bool {
            *memory == 0
        }
    }
    let policy = BreakerPolicy::new(Touchy);
    let breaker = SharedBreaker::<Touchy>::closed();
    let attempt = |verdict| {
        let permit = breaker.admit(Instant::ZERO, Deadline::NONE, &policy).unwrap();
        breaker.record(Instant::ZERO, permit, verdict, &policy)
    };
    assert!(catch_unwind(AssertUnwindSafe(|| attempt(Verdict::SlowFailure))).is_err());
    for counted in 1..5 {
        assert_eq!(attempt(Verdict::Failure), None);
        assert_eq!(breaker.snapshot().failures, counted);
    }
    assert_eq!(attempt(Verdict::Failure), Some(Transition::Opened));
    assert_eq!(breaker.force_closed(), Some(Transition::ForcedClosed));
}
