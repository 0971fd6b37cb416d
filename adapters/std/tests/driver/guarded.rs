//! Calls through a breaker.

use evenkeel_std::core::{
    BreakerPolicy, BreakerState, Clock, Code, Consecutive, Deadline, Instant, Refusal, Transition,
    Tried, Upstream,
};
use evenkeel_std::{Error, ManualClock, Shared};

use crate::{Ended, Failed, UNAVAILABLE, policy, run, within};

fn guarded(attempts: u16, threshold: u16) -> Shared {
    let rule = Consecutive::new(threshold).unwrap();
    Shared::new(policy(attempts, 100)).with_breaker(BreakerPolicy::new(rule))
}

fn fails(clock: &ManualClock, shared: &Shared) -> Ended {
    run(clock, shared.view(), within(clock, 10_000), |_| (0, UNAVAILABLE))
}

fn state(shared: &Shared) -> (BreakerState, u16) {
    let snapshot = shared.breaker().unwrap();
    (snapshot.state, snapshot.failures)
}

/// By the breaker, at this moment.
fn refused(
    clock: &ManualClock,
    shared: &Shared,
    last: Option<Failed>,
) -> Result<u32, Error<Failed>> {
    let retry_at = shared.breaker().unwrap().retry_at.unwrap();
    Err(Error::CircuitOpen { retry_at, retry_after: retry_at.since(clock.now()), last })
}

const LAST: Option<Failed> = Some(Failed(Code::Unavailable));

/// C44, C45, C47.
#[test]
fn a_threshold_below_the_attempts_ends_the_call_in_a_refusal() {
    for (threshold, wire, at) in [(1, 1, 100), (2, 2, 300)] {
        let (clock, shared) = (ManualClock::new(), guarded(3, threshold));
        let ended = fails(&clock, &shared);
        assert_eq!((ended.attempts.len(), ended.at), (wire, at));
        assert_eq!(ended.result, refused(&clock, &shared, LAST));
        assert_eq!(state(&shared), (BreakerState::Open, threshold));
    }
    let (clock, shared) = (ManualClock::new(), guarded(3, 3));
    let ended = fails(&clock, &shared);
    assert_eq!((ended.attempts.len(), state(&shared)), (3, (BreakerState::Open, 3)));
    assert!(matches!(ended.result, Err(Error::Peer { .. })));
}

/// C46, R10: four failing calls with three attempts and a threshold of five.
#[test]
fn a_refused_call_sends_nothing_and_waits_for_nothing() {
    let (clock, shared) = (ManualClock::new(), guarded(3, 5));
    let calls: Vec<_> = (0..4).map(|_| fails(&clock, &shared)).collect();
    assert_eq!(calls.iter().map(|call| call.attempts.len()).collect::<Vec<_>>(), [3, 2, 0, 0]);
    assert_eq!(calls[0].result.unwrap_err().peer(), LAST.as_ref());
    assert_eq!(calls[1].result, refused(&clock, &shared, LAST));
    for call in &calls[2..] {
        assert_eq!((call.result, call.at), (refused(&clock, &shared, None), 0));
    }
}

/// C14, C31: and a view tells what its steps changed.
#[test]
fn it_is_let_through_again_from_exactly_retry_at_on() {
    let (clock, shared) = (ManualClock::new(), guarded(1, 1));
    let mut view = shared.view();
    run(&clock, &mut view, Deadline::NONE, |_| (0, UNAVAILABLE));
    assert_eq!(view.take_changed(), Some(Transition::Opened));
    assert_eq!(view.take_changed(), None);

    let retry_at = shared.breaker().unwrap().retry_at.unwrap();
    clock.advance(retry_at.since(clock.now()).as_duration() - core::time::Duration::from_micros(1));
    assert_eq!(fails(&clock, &shared).attempts.len(), 0);
    clock.advance(core::time::Duration::from_micros(1));
    let ended = run(&clock, &mut view, Deadline::NONE, |_| (0, Ok(1)));
    assert_eq!((ended.result, view.take_changed()), (Ok(1), Some(Transition::Closed)));
    assert_eq!(state(&shared), (BreakerState::Closed, 0));
}

/// A stream that goes on is no trial that was lost.
#[test]
fn a_trial_that_is_renewed_keeps_others_out_for_longer() {
    for (renewed, others) in [(false, true), (true, false)] {
        let (clock, shared) = (ManualClock::new(), guarded(1, 1));
        fails(&clock, &shared);
        let opened = shared.breaker().unwrap().retry_at.unwrap();
        let mut view = shared.view();
        let (target, permit) = view.admit(opened, Deadline::NONE, Tried::NONE).unwrap();
        let asks = |at| shared.view().admit(at, Deadline::NONE, Tried::NONE);
        let Err(Refusal::CircuitOpen { retry_at: lost }) = asks(opened) else {
            panic!("two trials")
        };
        if renewed {
            view.renew(Instant::from_micros(lost.as_micros() - 1), target, &permit);
        }
        assert_eq!(asks(lost).is_ok(), others, "renewed: {renewed}");
    }
}

/// C48: our own deadline speaks against a peer that had its usual time, and not
/// against one that was given a scrap of it.
#[test]
fn a_timeout_counts_when_the_peer_had_its_time() {
    for (time, state_after) in [(200, BreakerState::Open), (99, BreakerState::Closed)] {
        let (clock, shared) = (ManualClock::new(), guarded(1, 1));
        let ended = run(&clock, shared.view(), within(&clock, time), |_| (time, Ok(1)));
        assert_eq!(ended.result, Err(Error::DeadlineExceeded { last: None }));
        assert_eq!(state(&shared).0, state_after, "{time} ms");
    }
}

/// C5, R9: a healthy peer says no.
#[test]
fn an_answer_that_is_no_sign_of_ill_health_is_not_counted() {
    let (clock, shared) = (ManualClock::new(), guarded(3, 1));
    for _ in 0..20 {
        let peer = |_| (0, Err(Failed(Code::NotFound)));
        assert_eq!(run(&clock, shared.view(), Deadline::NONE, peer).attempts.len(), 1);
    }
    assert_eq!(state(&shared), (BreakerState::Closed, 0));
}
