//! A device that wakes, sends and sleeps, and what it sleeps through.

use core::time::Duration;

use evenkeel_core::{Instant, Micros, Reconnect, ReconnectAction, ReconnectPolicy, Rung, checked};

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
