//! What the caller gets when there is no reply, and that the peer's last own word is never lost.

use core::error::Error as _;

use evenkeel_std::core::{
    BreakerPolicy, CallPolicy, Code, Consecutive, Deadline, Instant, Micros, Outcome, Permit,
    Refusal, Report, StopReason, Target, ThrottlePolicy, Tried, Upstream, checked,
};
use evenkeel_std::{Error, Ledger, ManualClock, Shared, call};

use crate::{Cause, Failed, Reply, UNAVAILABLE, policy, run, within};

type Ending = Error<Failed>;

/// An answer one microsecond before the attempt's deadline counts, and none from there on.
#[test]
fn at_the_deadline_an_answer_is_too_late() {
    for (takes_ms, expected) in [(399, Ok(1)), (400, Err(None)), (401, Err(None))] {
        let (clock, shared) = (ManualClock::new(), Shared::new(policy(4, 100)));
        let ended = run(&clock, shared.view(), within(&clock, 400), |_| (takes_ms, Ok(1)));
        let expected = expected.map_err(|last| Error::DeadlineExceeded { last });
        assert_eq!((ended.attempts.len(), ended.result), (1, expected));
    }
    let clock = ManualClock::new();
    let shared = Shared::new(policy(4, 100)).with_breaker(BreakerPolicy::DEFAULT);
    let (micros, reply) = (core::time::Duration::from_micros, |_: &Reply| Outcome::success());
    for (takes, in_time) in [(399_999, true), (400_000, false), (400_001, false)] {
        let result = call(&clock, shared.view(), within(&clock, 400), 7, reply, |_| {
            clock.advance(micros(takes));
            Ok(1)
        });
        assert_eq!(result.is_ok(), in_time, "{takes} µs");
    }
    assert_eq!(shared.breaker().unwrap().failures, 2, "whatever it said, it was too late");
}

#[test]
fn a_late_error_is_still_the_last_the_peer_said() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(4, 100)));
    let ended = run(&clock, shared.view(), within(&clock, 400), |_| (400, UNAVAILABLE));
    let last = Some(Failed(Code::Unavailable));
    assert_eq!(ended.result, Err(Error::DeadlineExceeded { last }));
}

#[test]
fn the_last_real_error_survives() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(4, 100)));
    let slow_second = |number| if number == 1 { (50, UNAVAILABLE) } else { (9_000, Ok(2)) };
    let ended = run(&clock, shared.view(), within(&clock, 2_000), slow_second);
    let last = Some(Failed(Code::Unavailable));
    assert_eq!(ended.result, Err(Error::DeadlineExceeded { last }));

    let codes = [Code::Unavailable, Code::ResourceExhausted, Code::Unavailable];
    let ended = run(&clock, shared.view(), Deadline::NONE, |number| {
        (0, Err(Failed(*codes.get(usize::from(number) - 1).unwrap_or(&Code::DataLoss))))
    });
    assert_eq!(ended.result.unwrap_err().peer(), Some(&Failed(Code::DataLoss)));
}

#[test]
fn with_nothing_left_nothing_is_sent() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(4, 100)));
    clock.advance(core::time::Duration::from_secs(5));
    for deadline in [within(&clock, 0), Deadline::at(Instant::ZERO)] {
        let ended = run(&clock, shared.view(), deadline, |_| (0, Ok(1)));
        assert_eq!(ended.attempts, []);
        assert_eq!(ended.result, Err(Error::DeadlineExceeded { last: None }));
    }
}

#[test]
fn a_throttled_call_ends_with_the_peers_error() {
    const NONE_LEFT: ThrottlePolicy = checked!(ThrottlePolicy::success_refilled(1, 1));
    let clock = ManualClock::new();
    let shared = Shared::new(policy(4, 100)).with_throttle(NONE_LEFT);
    let ended = run(&clock, shared.view(), Deadline::NONE, |_| (0, UNAVAILABLE));
    let error = Failed(Code::Unavailable);
    assert_eq!(ended.starts(), [0, 100]);
    assert_eq!(ended.result, Err(Error::Peer { error, reason: StopReason::Throttled }));
    assert_eq!(shared.throttle().unwrap().millitokens(), 0);
}

/// A reply that says it failed (HTTP 503, say) is tried again; the last one is handed out.
#[test]
fn a_reply_may_be_a_failure_too() {
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(3, 100)));
    let busy = |_: &Result<u32, Failed>| Outcome::unavailable();
    let mut page = 500;
    let reply = call(&clock, shared.view(), Deadline::NONE, 7, busy, |_| {
        page += 1;
        Ok(page)
    });
    assert_eq!(reply, Ok(503));
}

#[test]
fn without_a_target_there_is_no_attempt() {
    struct Empty(CallPolicy);
    impl Upstream for Empty {
        fn policy(&self) -> &CallPolicy {
            &self.0
        }
        fn admit(
            &mut self,
            _: Instant,
            _: Deadline,
            _: Tried,
        ) -> Result<(Target, Permit), Refusal> {
            Err(Refusal::NoTarget)
        }
        fn record(&mut self, _: Instant, _: Target, _: Permit, _: &Report) {
            unreachable!("nothing was let out")
        }
    }
    let ended = run(&ManualClock::new(), Empty(policy(3, 100)), Deadline::NONE, |_| (0, Ok(1)));
    assert_eq!((ended.attempts.len(), ended.result), (0, Err(Error::NoTarget)));
}

/// Whoever walks the chain finds the peer's error, or the cause of it where it is the error.
#[test]
fn every_ending_leads_to_the_peers_error() {
    let (retry_at, retry_after) = (Instant::from_micros(9_000_000), Micros::from_millis(5_000));
    let error = Failed(Code::Unavailable);
    let last = Some(error);
    let source = |ending: &Ending| ending.source().map(ToString::to_string);
    let open = Error::CircuitOpen { retry_at, retry_after, last };
    assert_eq!(open.to_string(), "circuit breaker is open, next try in 5.00s");
    assert!(open.source().unwrap().downcast_ref::<Failed>().is_some());
    let late = Error::DeadlineExceeded { last };
    assert_eq!(late.to_string(), "deadline exceeded");
    assert_eq!(source(&late).as_deref(), Some("the peer said UNAVAILABLE"));

    let peer = Error::Peer { error, reason: StopReason::Throttled };
    let why = "the peer said UNAVAILABLE (no further attempt: retries are throttled)";
    assert_eq!(peer.to_string(), why);
    assert!(peer.source().unwrap().downcast_ref::<Cause>().is_some());
    assert_eq!(
        (open.peer(), late.peer(), peer.peer()),
        (last.as_ref(), last.as_ref(), last.as_ref())
    );

    let nothing: [Ending; 3] = [
        Error::NoTarget,
        Error::DeadlineExceeded { last: None },
        Error::CircuitOpen { retry_at: Instant::MAX, retry_after, last: None },
    ];
    assert!(nothing.iter().all(|ending| ending.source().is_none() && ending.peer().is_none()));
    assert_eq!(nothing[0].to_string(), "no target is eligible");
    assert_eq!(nothing[2].to_string(), "circuit breaker is open, forced by hand");
}

/// For adapters with a loop of their own: a ledger nobody wrote to.
#[test]
fn a_call_without_attempts_has_no_last_error() {
    let now = Instant::from_micros(2);
    let settle = |reason| Ledger::<u32, Failed>::default().settle(now, reason).unwrap_err();
    for (micros, left) in [(9, 7), (2, 0), (1, 0)] {
        let (retry_at, retry_after) = (Instant::from_micros(micros), Micros::from_micros(left));
        let open = settle(StopReason::CircuitOpen { retry_at });
        assert_eq!(open, Error::CircuitOpen { retry_at, retry_after, last: None });
    }
    assert_eq!(settle(StopReason::NoTarget), Error::NoTarget);
    assert_eq!(settle(StopReason::DeadlinePassed), Error::DeadlineExceeded { last: None });
}

/// The last rule for failures that a retry policy of one attempt leaves: C47's neighbour.
#[test]
fn a_breaker_that_opens_on_the_only_attempt_does_not_hide_its_error() {
    const ONE: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(1)));
    let (clock, shared) = (ManualClock::new(), Shared::new(policy(1, 100)).with_breaker(ONE));
    let ended = run(&clock, shared.view(), Deadline::NONE, |_| (0, UNAVAILABLE));
    let (error, reason) = (Failed(Code::Unavailable), StopReason::AttemptsUsedUp);
    assert_eq!(ended.result, Err(Error::Peer { error, reason }));
}
