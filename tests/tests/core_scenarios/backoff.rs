//! The waits between attempts: B1 to B12, and the bands of G4, G5 and G13.

use core::time::Duration;

use evenkeel_core::{Backoff, Growth, Jitter, Micros, Random, RetryPolicy, SmallRng};
use evenkeel_tests::model::settings::JITTERS;

use crate::driver::{Client, U, at_once};
use crate::policies::{calls, exact, millis, ms};

/// The first `n` waits, in microseconds.
fn waits(backoff: &Backoff, n: usize, seed: u32) -> Vec<u64> {
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(seed));
    (0..n).map(|_| backoff.next_delay(&mut growth, &mut rng).as_micros()).collect()
}

fn in_millis(backoff: &Backoff, n: usize) -> Vec<u64> {
    waits(backoff, n, 1).into_iter().map(|micros| micros / 1_000).collect()
}

fn backoff(initial: u64, max: u64, jitter: Jitter) -> Backoff {
    Backoff::new(millis(initial), millis(max)).unwrap().with_jitter(jitter).unwrap()
}

#[test]
fn b1_it_doubles_up_to_the_cap() {
    assert_eq!(in_millis(&backoff(1_000, 5_000, Jitter::None), 4), [1_000, 2_000, 4_000, 5_000]);
}

#[test]
fn b2_half_a_share_of_jitter_stays_within_half() {
    let backoff = backoff(10_000, 20_000, Jitter::Proportional(500));
    let firsts: Vec<u64> = (0..2_000).map(|seed| waits(&backoff, 1, seed)[0]).collect();
    assert!(firsts.iter().all(|first| (5_000_000..=15_000_000).contains(first)));
    assert!(firsts.iter().any(|first| *first < 5_100_000), "the lower end is reached");
    assert!(firsts.iter().any(|first| *first > 14_900_000), "and so is the upper");
}

#[test]
fn b3_the_defaults_without_jitter() {
    let waits = in_millis(&Backoff::DEFAULT.with_jitter(Jitter::None).unwrap(), 9);
    assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
}

#[test]
fn b4_an_initial_wait_of_zero_never_waits() {
    for jitter in JITTERS {
        assert_eq!(waits(&backoff(0, 10_000, jitter), 5, 3), [0; 5], "{jitter:?}");
    }
}

#[test]
fn b5_a_multiplier_of_one_is_constant() {
    assert_eq!(waits(&exact(50).with_multiplier(1_000).unwrap(), 4, 1), [50_000; 4]);
}

#[test]
fn b6_a_cap_below_the_initial_wait_wins() {
    assert_eq!(in_millis(&backoff(1_000, 200, Jitter::None), 2), [200, 200]);
}

#[test]
fn b9_without_jitter_no_randomness_is_used_and_a_seed_repeats_itself() {
    struct Untouched;
    impl Random for Untouched {
        fn next_u32(&mut self) -> u32 {
            panic!("randomness was used")
        }
    }
    let mut growth = Growth::START;
    assert_eq!(exact(100).next_delay(&mut growth, &mut Untouched), ms(100));

    assert_eq!(waits(&Backoff::DEFAULT, 9, 5), waits(&Backoff::DEFAULT, 9, 5));
    assert_ne!(waits(&Backoff::DEFAULT, 9, 5), waits(&Backoff::DEFAULT, 9, 6));
}

#[test]
fn b10_a_whole_share_of_jitter_may_wait_zero_and_no_less() {
    let backoff = backoff(100, 10_000, Jitter::Proportional(1_000));
    let firsts: Vec<u64> = (0..2_000).map(|seed| waits(&backoff, 1, seed)[0]).collect();
    assert!(firsts.iter().all(|first| *first <= 200_000), "a wrapped subtraction would be huge");
    assert!(firsts.iter().any(|first| *first < 1_000));
}

#[test]
fn b11_each_wrong_setting_has_its_own_error() {
    let endless = Duration::MAX;
    let errors = [
        RetryPolicy::DEFAULT.with_max_attempts(0).unwrap_err(),
        Backoff::new(endless, millis(1)).unwrap_err(),
        Backoff::new(millis(1), endless).unwrap_err(),
        Backoff::DEFAULT.with_multiplier(999).unwrap_err(),
        Backoff::DEFAULT.with_jitter(Jitter::Proportional(1_001)).unwrap_err(),
    ];
    let fields = errors.map(|error| error.field());
    let named = [
        "retry.max_attempts",
        "backoff.initial",
        "backoff.max",
        "backoff.multiplier",
        "backoff.jitter",
    ];
    assert_eq!(fields, named);
    assert_eq!(errors[3].to_string().split(':').next(), Some("backoff.multiplier = 999/1000"));
}

#[test]
fn b12_no_jitter_leads_past_the_cap() {
    for shape in JITTERS {
        let backoff = backoff(900, 1_000, shape);
        let most = (0..500).flat_map(|seed| waits(&backoff, 8, seed)).max();
        assert!(most <= Some(1_000_000), "{shape:?} waited {most:?} µs");
    }
}

/// Any growth moves on: rounding down would keep 1 µs × 1.5 at 1 µs for ever.
#[test]
fn a_wait_of_a_microsecond_still_grows() {
    let tiny = Backoff::new(Duration::from_micros(1), millis(1)).unwrap();
    let tiny = tiny.with_jitter(Jitter::None).unwrap().with_multiplier(1_100).unwrap();
    assert_eq!(waits(&tiny, 4, 1), [1, 2, 3, 4]);
    assert_eq!(waits(&tiny, 100, 1)[99], 1_000);
}

#[test]
fn g4_the_bands_of_a_fifth_jitter() {
    let backoff = backoff(100, 1_000, Jitter::Proportional(200));
    let bands = [(80, 120), (160, 240), (320, 480), (640, 960), (800, 1_000)];
    for seed in 0..500 {
        for (wait, (low, high)) in waits(&backoff, 5, seed).into_iter().zip(bands) {
            assert!((low * 1_000..=high * 1_000).contains(&wait), "{wait} µs in {low}..={high} ms");
        }
    }
}

#[test]
fn g5_the_fifth_wait_meets_the_cap_exactly_at_most() {
    let backoff = backoff(100, 1_000, Jitter::Proportional(100));
    let fifths: Vec<u64> = (0..2_000).map(|seed| waits(&backoff, 5, seed)[4]).collect();
    assert!(fifths.iter().all(|fifth| (900_000..=1_000_000).contains(fifth)));
    assert!(fifths.iter().max() > Some(&999_000), "the cap is reached");
}

#[test]
fn g13_a_hundred_callers_at_once_do_not_wait_alike() {
    let spread = backoff(1_000, 10_000, Jitter::Proportional(200));
    let policy = calls(3, 0);
    let mut client = Client::new(policy.with_retry(policy.retry().with_backoff(spread)));
    let waits: Vec<[Micros; 2]> = (0..100)
        .map(|_| {
            let run = client.call(&[at_once(U)]);
            [run.retries[0].wait, run.retries[1].wait]
        })
        .collect();
    for (retry, low, high) in [(0, 800, 1_200), (1, 1_600, 2_400)] {
        let mut waits: Vec<Micros> = waits.iter().map(|waits| waits[retry]).collect();
        assert!(waits.iter().all(|wait| (ms(low)..=ms(high)).contains(wait)));
        waits.sort();
        waits.dedup();
        assert_eq!(waits.len(), 100, "two callers wait equally long");
    }
}
