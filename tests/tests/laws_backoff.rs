//! The laws of a backoff, on the product of all boundary values and on random settings.

use core::time::Duration;

use evenkeel_core::rng::Always;
use evenkeel_core::{Backoff, Growth, Jitter, Random, SmallRng};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use evenkeel_tests::model::settings::JITTERS;
use proptest::prelude::*;
use proptest::sample::select;

/// The settings of a backoff in plain numbers.
#[derive(Clone, Copy, Debug)]
struct Terms {
    initial: u64,
    max: u64,
    /// In thousandths.
    multiplier: u32,
    jitter: Jitter,
}

const SPANS: [u64; 9] = [0, 1, 2, 999, 100_000, (1 << 32) - 1, 1 << 32, 1 << 47, (1 << 48) - 1];
const MULTIPLIERS: [u32; 6] = [1_000, 1_001, 1_600, 2_000, 3_000, 65_535_000];
const DRAWS: [u32; 5] = [0, 1, 1 << 31, u32::MAX - 1, u32::MAX];

impl Terms {
    fn backoff(&self) -> Backoff {
        let micros = Duration::from_micros;
        let backoff = Backoff::new(micros(self.initial), micros(self.max)).unwrap();
        backoff.with_multiplier(self.multiplier).unwrap().with_jitter(self.jitter).unwrap()
    }

    /// The first `n` delays with these draws.
    fn delays(&self, n: usize, mut draws: impl Random) -> Vec<u64> {
        let (backoff, mut growth) = (self.backoff(), Growth::START);
        (0..n).map(|_| backoff.next_delay(&mut growth, &mut draws).as_micros()).collect()
    }

    /// What a delay is drawn around, and after it: capped at every step, never at a standstill.
    fn grown(&self, raw: Option<u128>) -> u128 {
        // Thousandths as 16.16, to the nearest.
        let factor = (u128::from(self.multiplier) * 65_536 + 500) / 1_000;
        let grown = |raw: u128| {
            let standstill = raw + u128::from(self.multiplier > 1_000 && raw > 0);
            (raw * factor / 65_536).max(standstill)
        };
        let initial = u128::from(self.initial);
        raw.map_or(initial, grown).min(self.max.into())
    }

    /// The least and the greatest delay around `raw`, after a delay of `last`.
    fn range(&self, raw: u128, last: u128) -> (u128, u128) {
        let (initial, max) = (u128::from(self.initial), u128::from(self.max));
        match self.jitter {
            Jitter::None => (raw, raw),
            Jitter::Full => (0, raw),
            Jitter::Equal => (raw.div_ceil(2), raw),
            Jitter::Decorrelated => (initial.min(max), (last.max(initial) * 3).min(max)),
            Jitter::Proportional(share) => {
                let side = raw * (u128::from(share) * 65_536 / 1_000) / 65_536;
                (raw - side, (raw + side).min(max))
            }
        }
    }

    fn spreads(&self) -> bool {
        !matches!(self.jitter, Jitter::None | Jitter::Proportional(0))
    }
}

/// Asks `law` of every combination of boundary values, then of random ones.
fn on_terms(law: impl Fn(&Terms) -> Result<(), String>) {
    for (initial, max) in SPANS.iter().flat_map(|one| SPANS.map(|two| (*one, two))) {
        for (multiplier, jitter) in
            MULTIPLIERS.iter().flat_map(|one| JITTERS.map(|two| (*one, two)))
        {
            let terms = Terms { initial, max, multiplier, jitter };
            law(&terms).unwrap_or_else(|fault| panic!("{fault} with {terms:?}"));
        }
    }
    let span = || prop_oneof![0..1u64 << 48, 0..100u64];
    let share = (0..=1_000u16).prop_map(Jitter::Proportional);
    let jitter = prop_oneof![share, select(JITTERS.to_vec())];
    let terms = (span(), span(), 1_000..=65_535_000u32, jitter)
        .prop_map(|(initial, max, multiplier, jitter)| Terms { initial, max, multiplier, jitter });
    on_random(terms, |terms| law(&terms).map_err(|fault| format!("{fault} with {terms:?}")));
}

#[test]
fn never_above_the_cap() {
    on_terms(|terms| {
        let lucky = terms.delays(12, SmallRng::seeded(1));
        for delay in terms.delays(12, Always(u32::MAX)).into_iter().chain(lucky) {
            ensure!(delay <= terms.max, "{delay} waited");
        }
        Ok(())
    });
}

#[test]
fn jitter_keeps_its_range() {
    on_terms(|terms| {
        let mut calm = *terms;
        calm.jitter = Jitter::None;
        for draw in DRAWS {
            for (delay, raw) in terms.delays(8, Always(draw)).iter().zip(calm.delays(8, Always(0)))
            {
                let (delay, raw) = (u128::from(*delay), u128::from(raw));
                let max = u128::from(terms.max);
                let (low, high) = match terms.jitter {
                    Jitter::None => (raw * 1_000, raw),
                    Jitter::Full => (0, raw),
                    Jitter::Equal => (raw * 500, raw),
                    Jitter::Decorrelated => (max.min(terms.initial.into()) * 1_000, max),
                    Jitter::Proportional(share) => {
                        let share = u128::from(share);
                        (raw * (1_000 - share), max.min(raw * (1_000 + share) / 1_000))
                    }
                };
                ensure!(delay * 1_000 >= low && delay <= high, "{delay} around {raw}");
            }
        }
        Ok(())
    });
}

#[test]
fn jitter_survives_at_the_cap() {
    on_terms(|terms| {
        if MULTIPLIERS.contains(&terms.multiplier) && terms.multiplier != 2_000 {
            // Once the cap is reached they are all alike.
            return Ok(());
        }
        // Long after the cap was reached, by luck or by growth.
        let mut rng = SmallRng::seeded(1);
        let mut delays = terms.delays(2_000, &mut rng).split_off(1_000);
        delays.sort_unstable();
        delays.dedup();
        let cap = terms.grown(Some(u128::from(terms.max)));
        let (low, high) = terms.range(cap, cap);
        if !terms.spreads() {
            let arrived = terms.multiplier >= 1_600 || terms.initial >= terms.max;
            ensure!(delays.len() == 1 || !arrived, "{} delays", delays.len());
        } else if terms.initial > 0 && terms.multiplier >= 1_600 {
            // A thousand draws meet nearly all values of a narrow range, and few values of a wide
            // one twice; decorrelated ones crowd at the lower end.
            let width = high - low + 1;
            let wide = if terms.jitter == Jitter::Decorrelated { 500 } else { 900 };
            let due = if width >= 10_000 { wide } else { width.min(100) * 9 / 10 };
            ensure!(delays.len() as u128 >= due, "{} of {width} delays", delays.len());
            let (first, last) = (u128::from(delays[0]), u128::from(delays[delays.len() - 1]));
            let tenth = (high - low) / 10;
            ensure!(first <= low + tenth && last >= high - tenth, "{first}..{last}");
        }
        Ok(())
    });
}

#[test]
fn ceilings_never_shrink() {
    on_terms(|terms| {
        let ceilings = terms.delays(200, Always(u32::MAX));
        for (last, next) in ceilings.iter().zip(&ceilings[1..]) {
            ensure!(last <= next, "{last}, then {next}");
        }
        let mut calm = *terms;
        calm.jitter = Jitter::None;
        let grows = terms.multiplier > 1_000 && terms.initial > 0;
        let delays = calm.delays(200, Always(0));
        for (last, next) in delays.iter().zip(&delays[1..]) {
            ensure!(!grows || last < next || *next == terms.max, "stands at {next}");
        }
        Ok(())
    });
    let millis = |initial: u64, max: u64, multiplier| Terms {
        initial: initial * 1_000,
        max: max * 1_000,
        multiplier,
        jitter: Jitter::None,
    };
    let long = millis(5_000, 20_000, 2_000).delays(70, Always(0));
    assert!(long[2..].iter().all(|delay| *delay == 20_000_000), "{long:?}");
    assert_eq!(millis(1_000, 10, 2_000).delays(100, Always(0)), [10_000; 100], "the cap wins");
    let plain = millis(100, 600_000, 2_000).delays(5, Always(0));
    assert_eq!(plain, [100_000, 200_000, 400_000, 800_000, 1_600_000]);
    let six = millis(6, 600_000, 6_000).delays(4, Always(0));
    assert_eq!(six, [6_000, 36_000, 216_000, 1_296_000]);
}

#[test]
fn no_overflow_in_any_profile() {
    on_terms(|terms| {
        for draw in DRAWS {
            let (mut raw, mut last) = (None, 0);
            for delay in terms.delays(12, Always(draw)) {
                let around = terms.grown(raw);
                raw = Some(around);
                let (low, high) = terms.range(around, last);
                last = low + (((high - low + 1) * u128::from(draw)) >> 32);
                ensure!(u128::from(delay) == last, "{delay}, due is {last} in {low}..={high}");
            }
        }
        Ok(())
    });
}
