//! Half a day of virtual time: targets that flap, come and go, a checker that is started and stopped,
//! and a verdict that is right at every step.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use evenkeel_tests::{Dial, Peer, Reply};
use evenkeel_tonic::core::{HealthPolicy, Random, SmallRng};
use evenkeel_tonic::health::HealthMode;

use crate::lab::{Lab, err, every, millis, not_serving, pass, serving, watched};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const MINUTE: u64 = 60_000;
/// Longer than the longest pause of a watch, and than the timeout of a check after it.
const STEP: u64 = 150_000;
const HALF_A_DAY: u64 = 12 * 60 * MINUTE;

/// What a target does for a while.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mood {
    Cut,
    Gone,
    Hanging,
    NotServing,
    Serving,
}

impl Mood {
    fn drawn(rng: &mut SmallRng) -> Self {
        match rng.next_u32() % 8 {
            0 => Self::Cut,
            1 => Self::Gone,
            2 => Self::Hanging,
            3 => Self::NotServing,
            _ => Self::Serving,
        }
    }

    fn is_healthy(self) -> bool {
        matches!(self, Self::Cut | Self::Serving)
    }

    /// Puts a target in this mood; what was under way before is cut off.
    fn set(self, lab: &Lab, name: &str, peer: &Peer, mode: HealthMode) {
        let check = mode == HealthMode::Check;
        let reply = match self {
            Self::NotServing if check => not_serving(),
            Self::NotServing => watched(&[2]),
            Self::Gone if check => err(),
            Self::Gone => Reply::hang().abort(),
            Self::Hanging => Reply::hang(),
            _ if check => serving(),
            _ => watched(&[1]),
        };
        peer.replace([reply]);
        let dials = if self == Self::Gone { vec![Dial::Refuse] } else { Vec::new() };
        lab.net.on_dial(name, dials);
        lab.net.cut(name);
    }
}

/// Longer than a check that times out and the longest pause after it.
fn policy() -> HealthPolicy {
    every(15_000).with_max_backoff(millis(20_000)).unwrap()
}

async fn half_a_day(mode: HealthMode, seed: u32) {
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let lab = Lab::new(|builder| {
        let builder = builder.targets(NAMES).policy(policy()).mode(mode);
        builder.on_status_change(move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        })
    });
    let peers = NAMES.map(|name| lab.peer(name, []));
    let mut rng = SmallRng::seeded(seed);
    lab.checker.start();
    let (mut moods, mut monitored) = ([Mood::Serving; 4], [true; 4]);
    for step in 0..HALF_A_DAY / STEP {
        for (number, name) in NAMES.into_iter().enumerate() {
            if rng.next_u32().is_multiple_of(4) || step == 0 {
                moods[number] = Mood::drawn(&mut rng);
                moods[number].set(&lab, name, &peers[number], mode);
            }
            if rng.next_u32().is_multiple_of(40) {
                monitored[number] = !monitored[number];
                if monitored[number] {
                    lab.checker.add(name);
                } else {
                    assert!(lab.checker.remove(name));
                }
            }
        }
        if rng.next_u32().is_multiple_of(20) {
            lab.checker.stop().await;
            let before: usize = peers.iter().map(Peer::count).sum();
            pass(STEP).await;
            assert_eq!(peers.iter().map(Peer::count).sum::<usize>(), before, "it is stopped");
            assert!(NAMES.iter().all(|name| lab.net.connections(name) == 0), "step {step}");
            lab.checker.start();
        }
        pass(STEP).await;
        for (number, name) in NAMES.into_iter().enumerate() {
            let healthy = monitored[number] && moods[number].is_healthy();
            let about = format!("{mode:?} {seed} step {step}: {name} {:?}", moods[number]);
            assert_eq!(lab.checker.is_healthy(name), Ok(healthy), "{about}");
            let (_, open) = lab.channels(name);
            assert!(open <= usize::from(monitored[number]), "{about}: {open} channels");
            assert!(lab.net.connections(name) <= usize::from(monitored[number]), "{about}");
        }
    }
    // No dead loop: per target and minute four checks, or a handful of streams.
    let (asked, minutes) =
        (peers.iter().map(Peer::count).sum::<usize>() as u64, lab.now() / MINUTE);
    assert!(asked < 4 * minutes * 5, "{asked} in {minutes} minutes");
    assert!(asked > HALF_A_DAY / STEP, "{asked} in {minutes} minutes");
    assert!(told.load(Ordering::Relaxed) > 100);
    lab.checker.stop().await;
    pass(1).await;
    assert!(NAMES.iter().all(|name| lab.channels(name).1 == 0 && lab.net.connections(name) == 0));
}

#[tokio::test(start_paused = true)]
async fn half_a_day_of_flapping_targets_asked() {
    half_a_day(HealthMode::Check, 1).await;
}

#[tokio::test(start_paused = true)]
async fn half_a_day_of_flapping_targets_watched() {
    half_a_day(HealthMode::Watch, 2).await;
}
