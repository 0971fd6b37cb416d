//! A device that wakes, sends and sleeps, and what it sleeps through.

use core::time::Duration;

use evenkeel_core::{
    Action, BreakerPolicy, BreakerState, Call, CallPolicy, CircuitBreaker, Deadline, Instant,
    Micros, Reconnect, ReconnectAction, ReconnectPolicy, Rung, Single, checked,
};

use crate::says;

const LADDER: &[Rung] = &[Rung::reset_peripheral(3), Rung::reboot(5)];
const CLIMBING: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_ladder(LADDER));
const HOUR: Micros = Micros::from_millis(3_600_000);

const fn seconds(seconds: u64) -> Micros {
    Micros::from_millis(seconds * 1_000)
}

const fn ending(policy: ReconnectPolicy) -> ReconnectPolicy {
    checked!(policy.with_give_up_after(Duration::from_secs(600)))
}

/// Twelve times: awake, a session of five seconds, and an hour asleep. How often the ladder was
/// climbed, and the most failures in a row; nothing for a link that was given up.
fn duty(policy: &ReconnectPolicy) -> Option<(u16, u16)> {
    let (mut link, mut now, mut climbed, mut failures) = (Reconnect::new(7), Instant::ZERO, 0, 0);
    for _ in 0..12 {
        let dial = loop {
            match link.poll(now, policy) {
                ReconnectAction::Dial(dial) => break dial,
                ReconnectAction::WaitUntil(at) => now = at,
                ReconnectAction::Escalate(_) => climbed += 1,
                ReconnectAction::GiveUp => return None,
            }
        };
        assert!(link.connected(now, dial, policy));
        now = now + seconds(5);
        failures = failures.max(link.lost(now, None, policy)?.failures);
        now = now + HOUR;
        link.carrier_back(now, policy);
    }
    Some((climbed, failures))
}

#[test]
fn short_sessions_are_failures_unless_they_are_meant_to_be_short() {
    says("Otherwise each good session counts as a failure, climbs the ladder and runs into");
    assert_eq!(duty(&CLIMBING), Some((2, 12)));
    assert_eq!(duty(&ending(CLIMBING)), None);
    for stable_after in [0, 4] {
        let meant = CLIMBING.with_stable_after(Duration::from_secs(stable_after)).unwrap();
        assert_eq!(duty(&meant), Some((0, 0)));
        assert_eq!(duty(&ending(meant)), Some((0, 0)));
    }
}

#[test]
fn the_window_of_giving_up_goes_on_over_a_sleep() {
    says("its window goes on over the sleep, and one failed dial before it is the end");
    let policy = ending(checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO)));
    let after = |asleep| {
        let (mut link, now) = (Reconnect::new(7), Instant::ZERO);
        let ReconnectAction::Dial(dial) = link.poll(now, &policy) else { panic!("it is due") };
        let _ = link.failed(now, dial, None, &policy);
        link.poll(now + asleep, &policy)
    };
    assert!(matches!(after(seconds(60)), ReconnectAction::Dial(_)));
    assert_eq!(after(HOUR), ReconnectAction::GiveUp);
}

/// How many failures in a row a healthy peer's breaker has counted after five sleeps of an hour,
/// each under an attempt; `before` is what is done to the call before it.
fn slept_under_an_attempt(before: fn(&mut Call, Instant, &mut Single<'_>)) -> (BreakerState, u16) {
    let (policy, rule) = (CallPolicy::DEFAULT, BreakerPolicy::DEFAULT);
    let (mut breaker, mut now) = (CircuitBreaker::new(), Instant::ZERO);
    for seed in 0..5 {
        let mut peer = Single::new(&policy).with_breaker(&mut breaker, &rule);
        let mut call = Call::new(policy.deadline(now, Deadline::NONE), seed);
        let Action::Attempt(_) = call.poll(now, &mut peer) else { panic!("it is let through") };
        before(&mut call, now, &mut peer);
        now = now + HOUR;
        let _ = call.poll(now, &mut peer);
    }
    (breaker.state(), breaker.snapshot().failures)
}

#[test]
fn a_call_that_is_slept_through_counts_against_the_peer_unless_it_is_cancelled() {
    says("`cancel` every call under way (with embassy: drop its future), or its attempt counts");
    let (kept, _) = slept_under_an_attempt(|_, _, _| {});
    assert_eq!(kept, BreakerState::Open);
    let cancelled = slept_under_an_attempt(|call, now, peer| call.cancel(now, peer));
    assert_eq!(cancelled, (BreakerState::Closed, 0));
}

#[test]
fn a_dial_that_is_slept_through_has_failed() {
    says(
        "Do not sleep in a dial: it cannot be cancelled, and one that is slept through has failed",
    );
    let policy = checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO));
    let (mut link, now) = (Reconnect::new(7), Instant::ZERO);
    let ReconnectAction::Dial(dial) = link.poll(now, &policy) else { panic!("it is due") };
    assert!(!link.connected(now + HOUR, dial, &policy));
    assert_eq!(link.failures(), 1);
}
