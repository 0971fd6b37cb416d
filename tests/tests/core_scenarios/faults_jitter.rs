//! Incidents of jitter: F12 to F17. What happened is in `docs/incidents.md`.

use core::time::Duration;

use evenkeel_core::{Backoff, Growth, Jitter, SmallRng};

use crate::policies::millis;

fn backoff(initial: u64, max: u64, jitter: Jitter) -> Backoff {
    Backoff::new(millis(initial), millis(max)).unwrap().with_jitter(jitter).unwrap()
}

/// This many waits before retry `step`, in microseconds.
fn draws(backoff: &Backoff, step: usize, n: u32) -> Vec<u64> {
    let draw = |seed| {
        let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(seed));
        (0..step).map(|_| backoff.next_delay(&mut growth, &mut rng).as_micros()).last().unwrap()
    };
    (0..n).map(draw).collect()
}

fn distinct(mut draws: Vec<u64>) -> usize {
    draws.sort_unstable();
    draws.dedup();
    draws.len()
}

#[test]
fn f12_jitter_is_drawn_inside_the_cap() {
    let waits = draws(&backoff(800, 1_200, Jitter::Proportional(500)), 2, 10_000);
    assert!(waits.iter().all(|wait| (600_000..=1_200_000).contains(wait)));
    // Not cut off there either: a sum that is clamped would pile up on the cap.
    let at_the_cap = waits.iter().filter(|wait| **wait == 1_200_000).count();
    assert!(at_the_cap < 100, "{at_the_cap} of 10,000 wait for exactly the cap");
}

/// Jitter is a share of the wait, so the widest range begins at zero and never below it.
#[test]
fn f14_jitter_as_large_as_the_wait_reaches_zero_without_piling_up_there() {
    let waits = draws(&backoff(100, 300, Jitter::Proportional(1_000)), 1, 10_000);
    assert!(waits.iter().all(|wait| *wait <= 200_000));
    let low = waits.iter().filter(|wait| **wait < 20_000).count();
    assert!((800..1_200).contains(&low), "a tenth of the range holds {low} of 10,000 draws");
    assert_eq!(draws(&backoff(0, 300, Jitter::Proportional(1_000)), 1, 100), [0; 100]);
    assert!(Backoff::DEFAULT.with_jitter(Jitter::Proportional(2_000)).is_err());
}

#[test]
fn f15_an_empty_range_is_the_wait_itself() {
    assert_eq!(draws(&backoff(1, 10, Jitter::Proportional(0)), 1, 50), [1_000; 50]);
    let tick = Backoff::new(Duration::from_micros(1), millis(10)).unwrap();
    for jitter in [Jitter::Proportional(200), Jitter::Equal, Jitter::Decorrelated] {
        let waits = draws(&tick.with_jitter(jitter).unwrap(), 1, 50);
        assert!(waits.iter().all(|wait| (1..=3).contains(wait)), "{jitter:?}: {waits:?}");
    }
    let waits = draws(&tick.with_jitter(Jitter::Full).unwrap(), 1, 50);
    assert!(waits.iter().all(|wait| *wait <= 1));
}

#[test]
fn f16_a_window_below_a_millisecond_is_still_spread() {
    let tight = Backoff::new(Duration::from_micros(500), Duration::from_micros(900)).unwrap();
    let waits = draws(&tight.with_jitter(Jitter::Full).unwrap(), 2, 1_000);
    assert!(waits.iter().all(|wait| *wait <= 900));
    assert!(distinct(waits) >= 100);
}

#[test]
fn f17_no_jitter_is_one_value_and_jitter_is_many() {
    assert_eq!(distinct(draws(&backoff(100, 10_000, Jitter::Proportional(0)), 1, 100)), 1);
    assert_eq!(distinct(draws(&backoff(100, 10_000, Jitter::None), 1, 100)), 1);
    assert!(distinct(draws(&backoff(100, 10_000, Jitter::Proportional(500)), 1, 100)) > 90);
}

/// The core's half of F18: neighbouring device ids give unrelated first waits, and no constructor
/// takes a seed from a clock.
#[test]
fn f18_devices_that_boot_together_do_not_wait_alike() {
    let waits: Vec<u64> = (0..100)
        .map(|device: u8| {
            let (mut growth, full) = (Growth::START, backoff(1_000, 10_000, Jitter::Full));
            let mut rng = SmallRng::seeded(evenkeel_core::rng::seed_from(&[2, 0, 0, 0, 0, device]));
            full.next_delay(&mut growth, &mut rng).as_micros() / 1_000
        })
        .collect();
    assert!(distinct(waits) >= 60);
}
