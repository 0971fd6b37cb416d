//! The laws of a running quantile, held against the exact one of everything that was recorded.

use evenkeel_core::{Micros, RunningQuantile};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// As many as may come before anything fades.
const UNFADED: usize = 511;

fn of(thousandths: u16, samples: &[u64]) -> Option<u64> {
    let mut quantile = RunningQuantile::new(thousandths).unwrap();
    samples.iter().for_each(|took| quantile.record(Micros::from_micros(*took)));
    quantile.value().map(Micros::as_micros)
}

/// The sample with this rank, counted from 1, of those that are sorted.
fn ranked(sorted: &[u64], rank: usize) -> u64 {
    sorted[rank.clamp(1, sorted.len()) - 1].min((1 << 28) - 1)
}

/// Latencies as they are: around a middle, in two heaps, over many decades, at the edges.
fn latencies() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 9_000..11_000u64,
        2 => 0..40u64,
        2 => (0..40u32).prop_map(|shift| 1u64 << shift),
        1 => select(vec![0, 1, 7, 8, (1 << 28) - 1, 1 << 28, u64::MAX - 1, u64::MAX]),
    ]
}

/// At least the exact quantile, and at most an eighth above it.
fn is_within_bounds(thousandths: u16, samples: &[u64]) -> Result<(), String> {
    let seen = of(thousandths, samples).ok_or("a hundred samples are enough")?;
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let rank = (samples.len() * usize::from(thousandths)).div_ceil(1_000);
    // The share is kept in 16 bits: where it falls on a sample exactly, it may mean the one before.
    let (least, exact) = (ranked(&sorted, rank - 1), ranked(&sorted, rank));
    ensure!(seen >= least, "{seen} is below {least}, p{thousandths} of {samples:?}");
    let most = exact + exact / 8;
    ensure!(seen <= most, "{seen} is above {most}, p{thousandths} of {samples:?}");
    Ok(())
}

#[test]
fn it_is_the_exact_quantile_within_its_bounds() {
    on_random((500..=990u16, vec(latencies(), 100..=UNFADED)), |(thousandths, samples)| {
        is_within_bounds(thousandths, &samples)
    });
    for thousandths in [500, 950, 990] {
        for samples in [vec![0; 100], vec![u64::MAX; 100], (0..511).collect()] {
            is_within_bounds(thousandths, &samples).unwrap();
        }
    }
}

/// What is too long to be told apart is in the last bucket, from the first of them on.
#[test]
fn the_longest_are_all_as_long() {
    let of_all = |took: u64| of(950, &[took; 200]);
    let longest = of_all((1 << 28) - 1);
    assert!(longest.is_some());
    for took in [1 << 28, (1 << 28) + 1, 1 << 40, u64::MAX] {
        assert_eq!(of_all(took), longest, "{took}");
    }
}

#[test]
fn before_the_hundredth_sample_it_says_nothing() {
    assert_eq!(of(950, &[5; 99]), None);
    assert_eq!(of(950, &[5; 100]), Some(5));
}

/// The newest half thousand outweighs everything before, and a spike is forgotten.
#[test]
fn it_follows_what_changes() {
    let changes = (vec(1_000..2_000u64, 0..3_000), vec(50_000..60_000u64, 1_536..4_000));
    on_random(changes, |(before, after)| {
        let samples: Vec<u64> = before.iter().chain(&after).copied().collect();
        let seen = of(500, &samples).ok_or("so many are enough")?;
        ensure!(seen >= 50_000, "half a thousand twice, and still {seen}");
        let back: Vec<u64> =
            samples.iter().chain(&before).chain(&[1_500; 8_192]).copied().collect();
        let seen = of(990, &back).ok_or("so many are enough")?;
        ensure!(seen < 2_250, "eight thousand later, and still {seen}");
        Ok(())
    });
}

/// Over a stationary stream the share above it is what was asked for, long after all has faded.
#[test]
fn it_stays_true_for_ever() {
    // Every latency from 1 to 10,007 µs once in each round, far apart from its neighbours in time.
    let stream = (0..400_000u64).map(|call| 1 + call.wrapping_mul(7_919) % 10_007);
    let mut quantile = RunningQuantile::new(950).unwrap();
    for (call, took) in stream.enumerate() {
        quantile.record(Micros::from_micros(took));
        if let (true, Some(seen)) = (call > 2_000, quantile.value()) {
            let exact = 9_507;
            let seen = seen.as_micros();
            assert!((exact - 200..exact + exact / 8 + 200).contains(&seen), "{seen} at {call}");
        }
    }
}

#[test]
fn only_shares_that_can_be_told_are_taken() {
    for thousandths in [0, 1, 499, 991, 1_000, u16::MAX] {
        let refused = RunningQuantile::new(thousandths).unwrap_err();
        assert_eq!((refused.field(), refused.value()), ("quantile", u64::from(thousandths)));
    }
    assert!(RunningQuantile::new(500).is_ok() && RunningQuantile::new(990).is_ok());
}
