//! Seeds that lie side by side, and open times at the ends of every range.

use core::time::Duration;

use evenkeel_core::rng::{mix, seed_from};
use evenkeel_core::{
    Action, Backoff, BreakerPolicy, Call, CallPolicy, CircuitBreaker, Consecutive, Deadline, Gate,
    Instant, Jitter, Next, Outcome, Passage, Random as _, RetryPolicy, Single, SmallRng, Verdict,
    checked,
};

const SECOND: u64 = 1_000_000;

/// Full jitter over a second, then over two.
const CALLS: CallPolicy =
    CallPolicy::DEFAULT.unbounded().with_retry(RetryPolicy::DEFAULT.with_backoff(checked!(
        checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(2)))
            .with_jitter(Jitter::Full)
    )));

/// The first two delays of a call, as shares of their ranges.
fn delays(seed: u32) -> (f64, f64) {
    let (mut call, mut now) = (Call::new(Deadline::NONE, seed), Instant::ZERO);
    let mut upstream = Single::new(&CALLS);
    let mut next = |range: u64| {
        let Action::Attempt(attempt) = call.poll(now, &mut upstream) else { panic!() };
        let next = call.complete(now, &mut upstream, attempt, Outcome::unavailable());
        let Next::Retry { at, .. } = next else { panic!("{next:?}") };
        let delay = at.since(now).as_micros();
        now = at;
        delay as f64 / range as f64
    };
    (next(SECOND), next(2 * SECOND))
}

/// When a breaker with this seed is asked again, as a share of twice its open time.
fn open_time(seed: u32) -> f64 {
    let policy = BreakerPolicy::new(checked!(Consecutive::new(1)));
    let policy = policy.with_open_for(Duration::from_secs(1)).unwrap();
    let policy = policy.with_open_jitter(1_000, seed).unwrap();
    let mut breaker = CircuitBreaker::new();
    let permit = breaker.admit(Instant::ZERO, Deadline::NONE, &policy).unwrap();
    breaker.record(Instant::ZERO, permit, Verdict::Failure, &policy);
    breaker.snapshot().retry_at.unwrap().as_micros() as f64 / (2 * SECOND) as f64
}

/// Asks that a thousand shares are spread evenly, and that none says anything about the next.
/// The bounds are four standard deviations and more; the seeds are fixed, so is the outcome.
fn are_strangers(shares: &[f64], who: &str) {
    assert_eq!(shares.len(), 1_000);
    let mut counts = [0u32; 20];
    for share in shares {
        counts[((share * 20.0) as usize).min(19)] += 1;
    }
    let surplus = |count: &u32| (f64::from(*count) - 50.0).powi(2) / 50.0;
    let chi_square: f64 = counts.iter().map(surplus).sum();
    assert!(chi_square < 50.0, "{who}: {chi_square} on 19 degrees of freedom, {counts:?}");
    for apart in [1, 2, 256] {
        let r = correlation(&shares[..1_000 - apart], &shares[apart..]);
        assert!(r.abs() < 0.15, "{who}: correlation {r} of seeds {apart} apart");
    }
    let mut sorted = shares.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    assert!(sorted.len() > 990, "{who}: {} different ones", sorted.len());
}

fn correlation(ones: &[f64], others: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (one, other) = (mean(ones), mean(others));
    let product = |(x, y): (&f64, &f64)| (x - one) * (y - other);
    let square = |values: &[f64], mean: f64| values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    ones.iter().zip(others).map(product).sum::<f64>()
        / (square(ones, one) * square(others, other)).sqrt()
}

#[test]
fn neighbouring_seeds_are_strangers() {
    for first in [0, 1 << 20, u32::MAX - 500] {
        let seeds: Vec<u32> = (0..1_000).map(|number| first.wrapping_add(number)).collect();
        let both: Vec<_> = seeds.iter().map(|seed| delays(*seed)).collect();
        let (firsts, seconds): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        are_strangers(&firsts, "first delays");
        are_strangers(&seconds, "second delays");
        let r = correlation(&firsts, &seconds);
        assert!(r.abs() < 0.15, "correlation {r} of first and second delays");
        let open_times: Vec<f64> = seeds.iter().map(|seed| open_time(*seed)).collect();
        are_strangers(&open_times, "open times");
    }
    // Seeds that differ in a single bit, wherever it is.
    let plain: Vec<f64> = (0..1_000).map(|seed| delays(seed).0).collect();
    for bit in 0..32 {
        let flipped: Vec<f64> = (0..1_000).map(|seed| delays(seed ^ (1 << bit)).0).collect();
        let r = correlation(&plain, &flipped);
        assert!(r.abs() < 0.15, "bit {bit}: correlation {r}");
    }
    // A fleet out of one box: MAC addresses in a row.
    let macs = (0..1_000u16).map(|number| [0x02, 0, 0, 0x17, (number >> 8) as u8, number as u8]);
    let seeds: Vec<u32> = macs.map(|mac| seed_from(&mac)).collect();
    let shares: Vec<f64> = seeds.iter().map(|seed| f64::from(*seed) / 2f64.powi(32)).collect();
    are_strangers(&shares, "seeds of devices");
    let fleet: Vec<f64> = seeds.iter().map(|seed| delays(*seed).0).collect();
    are_strangers(&fleet, "devices");
}

const SPANS: [u64; 7] = [0, 1, 999, SECOND, 1 << 32, 1 << 47, (1 << 48) - 1];

/// The terms of open times in plain numbers.
#[derive(Clone, Copy, Debug)]
struct Open {
    span: u64,
    /// The factor in thousandths and the longest open time, where they grow.
    growth: Option<(u32, u64)>,
    /// In thousandths.
    jitter: u16,
}

impl Open {
    fn policy(&self) -> BreakerPolicy {
        let policy = BreakerPolicy::new(checked!(Consecutive::new(1)));
        let policy = policy.with_open_for(Duration::from_micros(self.span)).unwrap();
        let policy = policy.with_open_jitter(self.jitter, 7).unwrap();
        match self.growth {
            Some((factor, max)) => policy.with_growth(factor, Duration::from_micros(max)).unwrap(),
            None => policy,
        }
    }

    fn cap(&self) -> u128 {
        self.growth.map_or(1 << 48, |(_, max)| max.into())
    }

    /// The open time, before jitter, that follows one of `span`.
    fn grown(&self, span: u128) -> u128 {
        match self.growth {
            Some((factor, _)) if factor > 1_000 && span > 0 => {
                let factor = (u128::from(factor) * 65_536 + 500) / 1_000;
                (span * factor / 65_536).max(span + 1).min(self.cap())
            }
            _ => span,
        }
    }

    fn range(&self, span: u128) -> (u128, u128) {
        let side = span * (u128::from(self.jitter) * 65_536 / 1_000) / 65_536;
        (span - side, (span + side).min(self.cap()))
    }

    /// Opens a breaker over and over, beginning at `start`, and checks every open time.
    fn reopen(&self, start: u64, times: u32) {
        let (policy, mut breaker) = (self.policy(), CircuitBreaker::new());
        let (mut now, mut span) = (Instant::from_micros(start), self.cap().min(self.span.into()));
        for reopenings in 0..times {
            let permit = breaker.admit(now, Deadline::at(now), &policy).unwrap();
            breaker.record(now, permit, Verdict::Failure, &policy);
            let shown = breaker.snapshot();
            assert_eq!(u32::from(shown.reopenings), reopenings.min(255), "{self:?}");
            let (low, high) = self.range(span);
            let after = |span: u128| u64::try_from(span + u128::from(now.as_micros()));
            let (low, high) = (after(low).unwrap_or(u64::MAX), after(high).unwrap_or(u64::MAX));
            let retry_at = shown.retry_at.unwrap();
            let fits = (low..=high).contains(&retry_at.as_micros());
            assert!(fits, "{retry_at:?} in {low}..={high}, {reopenings}, {self:?}");
            // The gate before a breaker may leave a question to it, and must not answer wrongly.
            let asked = Gate::of(&breaker).admit(retry_at);
            assert_eq!(asked, Passage::Ask, "{retry_at:?}, {self:?}");
            now = retry_at;
            span = if reopenings < 255 { self.grown(span) } else { span };
        }
    }
}

#[test]
fn no_overflow_in_any_profile() {
    let starts = [0, 1 << 48, u64::MAX - (1 << 47), u64::MAX - 1, u64::MAX];
    let factors = [1_000, 1_001, 1_600, 2_000, 65_535_000];
    let growths = factors.iter().flat_map(|factor| SPANS[1..].iter().map(|max| (*factor, *max)));
    for growth in growths.map(Some).chain([None]) {
        for (span, jitter) in SPANS.iter().flat_map(|span| [0, 1, 500, 1_000].map(|j| (*span, j))) {
            let open = Open { span, growth, jitter };
            starts.iter().for_each(|start| open.reopen(*start, 8));
            // As often in a row as is counted, and more often.
            let grows_slowly = growth.is_none_or(|(factor, _)| factor == 1_001);
            open.reopen(7, if grows_slowly && jitter == 500 { 300 } else { 60 });
        }
    }
}

/// The generator and its seeds are those that were published: Marsaglia's xorshift (13, 17, 5), the
/// finalizer of `MurmurHash3`, and FNV-1a. So a run of today can be repeated by a later version.
#[test]
fn the_numbers_are_those_of_the_published_generators() {
    fn finalized(seed: u32) -> u32 {
        let once = (seed ^ (seed >> 16)).wrapping_mul(0x85eb_ca6b);
        let twice = (once ^ (once >> 13)).wrapping_mul(0xc2b2_ae35);
        twice ^ (twice >> 16)
    }

    // MurmurHash3 of nothing, with this seed.
    assert_eq!(finalized(1), 0x514e_28b7);
    for seed in [0, 1, 2, 7, 0xffff, 0x8000_0000, u32::MAX] {
        assert_eq!(mix(seed), finalized(seed));
        let mut state = finalized(seed.wrapping_add(0x9e37_79b9));
        let mut rng = SmallRng::seeded(seed);
        for _ in 0..8 {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            assert_eq!(rng.next_u32(), state, "seed {seed}");
        }
    }
    // The published values of FNV-1a.
    for (id, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
        assert_eq!(seed_from(id.as_bytes()), finalized(hash), "{id:?}");
    }
}
