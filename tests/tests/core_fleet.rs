//! What a broker meets when a whole fleet loses it: done in virtual time with the shipped defaults.
//!
//! The `f` ids are those of `docs/incidents.md`.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_core::rng::seed_from;
use evenkeel_core::{Instant, Micros, Reconnect, ReconnectAction, ReconnectPolicy};

static DEFAULTS: ReconnectPolicy = ReconnectPolicy::DEFAULT;

const SECOND: u64 = 1_000_000;
const TENTH: u64 = SECOND / 10;
const ROUND_TRIP: u64 = 50_000;

/// A broker that takes so many sessions a second, ten times a second, and refuses the rest.
struct Broker {
    per_tenth: u32,
    /// Up from this instant on.
    up_at: u64,
    /// Each session is dropped after so long.
    drops_after: Option<u64>,
    taken: (u64, u32),
}

impl Broker {
    fn accepts(&mut self, now: u64) -> bool {
        let tenth = now / TENTH;
        if self.taken.0 != tenth {
            self.taken = (tenth, 0);
        }
        self.taken.1 += 1;
        now >= self.up_at && self.taken.1 <= self.per_tenth
    }
}

/// What happened: when each dial went out, and when each device was connected at last.
struct Storm {
    dials: Vec<u64>,
    connected: Vec<u64>,
}

impl Storm {
    /// The most dials in any 100 ms between `from` and `to`.
    fn peak(&self, from: u64, to: u64) -> usize {
        let mut dials: Vec<u64> =
            self.dials.iter().copied().filter(|at| (from..to).contains(at)).collect();
        dials.sort_unstable();
        let mut first = 0;
        let mut peak = 0;
        for (at, dial) in dials.iter().enumerate() {
            while dials[first] + TENTH <= *dial {
                first += 1;
            }
            peak = peak.max(at - first + 1);
        }
        peak
    }
}

/// The seed a device makes from its MAC address; `fleet` tells one storm from another.
fn seed(fleet: u8, device: u16) -> u32 {
    let [high, low] = device.to_be_bytes();
    seed_from(&[2, 0, 0, fleet, high, low])
}

/// `devices` boot at once and dial `broker` until `end`.
fn storm(fleet: u8, devices: u16, mut broker: Broker, end: u64) -> Storm {
    let mut links: Vec<Reconnect> =
        (0..devices).map(|device| Reconnect::new(seed(fleet, device))).collect();
    let mut queue: BinaryHeap<Reverse<(u64, usize)>> =
        (0..links.len()).map(|device| Reverse((0, device))).collect();
    let mut seen = Storm { dials: Vec::new(), connected: Vec::new() };
    while let Some(Reverse((now, device))) = queue.pop() {
        if now >= end {
            break;
        }
        let (link, at) = (&mut links[device], Instant::from_micros(now));
        if link.is_connected() {
            let _ = link.lost(at, None, &DEFAULTS);
        }
        match link.poll(at, &DEFAULTS) {
            ReconnectAction::Dial(dial) => {
                seen.dials.push(now);
                let answer = Instant::from_micros(now + ROUND_TRIP);
                if broker.accepts(now) {
                    assert!(link.connected(answer, dial, &DEFAULTS));
                    seen.connected.push(answer.as_micros());
                    if let Some(after) = broker.drops_after {
                        queue.push(Reverse((answer.as_micros() + after, device)));
                    }
                } else {
                    let setback = link.failed(answer, dial, None, &DEFAULTS).unwrap();
                    queue.push(Reverse((setback.dial_at.as_micros(), device)));
                }
            }
            ReconnectAction::WaitUntil(next) => queue.push(Reverse((next.as_micros(), device))),
            ReconnectAction::Escalate(_) | ReconnectAction::GiveUp => unreachable!("no ladder"),
        }
    }
    seen
}

fn steady(per_second: u32) -> Broker {
    Broker { per_tenth: per_second / 10, up_at: 0, drops_after: None, taken: (0, 0) }
}

#[test]
fn a_thousand_devices_after_a_power_cut_come_back_without_a_storm() {
    for fleet in 0..20 {
        let seen = storm(fleet, 1_000, steady(100), 60 * SECOND);
        let (peak, last) = (seen.peak(0, 60 * SECOND), *seen.connected.iter().max().unwrap());
        assert_eq!(seen.connected.len(), 1_000);
        assert!(peak <= 30, "fleet {fleet}: {peak} dials in 100 ms");
        assert!(last <= 30 * SECOND, "fleet {fleet}: the last one after {last} µs");
    }
}

#[test]
fn a_broker_that_accepts_and_hangs_up_meets_growing_waits() {
    for fleet in 0..20 {
        let mut broker = steady(1_000);
        broker.drops_after = Some(SECOND);
        let seen = storm(fleet, 1, broker, 3_600 * SECOND);
        // An hour of 1 s sessions: about 60 s of waiting between two of them in the end.
        assert!(seen.dials.len() < 120, "{} dials in an hour", seen.dials.len());
        let last = &seen.dials[seen.dials.len() - 5..];
        assert!(last[4] - last[0] > 60 * SECOND, "{last:?}");
        for pair in seen.dials.windows(2) {
            assert!(pair[1] - pair[0] > SECOND + ROUND_TRIP, "dialled while it was up");
        }
    }
}

#[test]
fn f135_five_clients_of_one_broker_share_one_schedule() {
    let gone = || Broker { per_tenth: 0, up_at: u64::MAX, drops_after: None, taken: (0, 0) };
    // Five clients ask the same link; only it dials.
    let mut link = Reconnect::new(seed(0, 1));
    let (mut now, mut dials) = (Instant::ZERO, 0);
    while now < Instant::from_micros(600 * SECOND) {
        let mut next = Instant::MAX;
        for _client in 0..5 {
            match link.poll(now, &DEFAULTS) {
                ReconnectAction::Dial(dial) => {
                    dials += 1;
                    let _ = link.failed(now + Micros::from_millis(50), dial, None, &DEFAULTS);
                }
                ReconnectAction::WaitUntil(at) => next = next.min(at),
                ReconnectAction::Escalate(_) | ReconnectAction::GiveUp => unreachable!(),
            }
        }
        now = if next == Instant::MAX { now + Micros::from_millis(60) } else { next };
    }
    let alone = storm(0, 2, gone(), 600 * SECOND).dials.len() / 2;
    assert!(dials <= 2 * alone, "{dials} dials for five, {alone} for one");
    assert!(dials < 30, "{dials} in ten minutes");
}

#[test]
fn f136_the_first_dial_after_a_drop_is_a_jittered_second_away() {
    let mut waits = Vec::new();
    for device in 0..1_000 {
        let mut link = Reconnect::new(seed(1, device));
        let _ = link.poll(Instant::ZERO, &DEFAULTS);
        let up = Instant::from_micros(30 * SECOND);
        let ReconnectAction::Dial(dial) = link.poll(up, &DEFAULTS) else { panic!() };
        assert!(link.connected(up, dial, &DEFAULTS));
        let drop = Instant::from_micros(90 * SECOND);
        let setback = link.lost(drop, None, &DEFAULTS).unwrap();
        assert_eq!(setback.failures, 0, "a minute is proof");
        waits.push(setback.dial_at.since(drop).as_micros());
    }
    assert!(waits.iter().all(|wait| (1..=SECOND).contains(wait)));
    let mean = waits.iter().sum::<u64>() / 1_000;
    assert!((450_000..550_000).contains(&mean), "{mean} µs on average");
}

#[test]
fn f137_no_pulse_of_a_thousand_devices_at_any_phase() {
    let mut broker = steady(100);
    broker.up_at = 300 * SECOND;
    let seen = storm(2, 1_000, broker, 900 * SECOND);
    // Once the broker is back the devices that are connected dial no more: shorter phases there.
    for phase in [(30, 60), (60, 120), (120, 200), (200, 300), (300, 330), (330, 380)] {
        let mut buckets = vec![0u32; (phase.1 - phase.0) as usize];
        for dial in &seen.dials {
            if let Some(bucket) = (dial / SECOND).checked_sub(phase.0)
                && let Some(bucket) = buckets.get_mut(bucket as usize)
            {
                *bucket += 1;
            }
        }
        let mean = f64::from(buckets.iter().sum::<u32>()) / buckets.len() as f64;
        let peak = f64::from(*buckets.iter().max().unwrap());
        assert!(peak <= 3.0 * mean, "phase {phase:?}: {peak} a second, {mean} on average");
    }
    assert_eq!(seen.connected.len(), 1_000, "all are back");
}

#[test]
fn f18_a_fleet_that_boots_in_one_tick_is_spread() {
    let mut delays: Vec<u64> = (0..100)
        .map(|device| {
            let mut link = Reconnect::new(seed(3, device));
            let ReconnectAction::WaitUntil(at) = link.poll(Instant::from_micros(17), &DEFAULTS)
            else {
                panic!()
            };
            at.as_micros() / 20_000
        })
        .collect();
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() >= 60, "{} different of 1000 possible", delays.len());
}
