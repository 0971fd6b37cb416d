//! The laws of the presets: what their sources say, at every draw and at the edges of it.

use evenkeel_core::presets::{Coap, Dhcp4, Dhcp6, FREERTOS};
use evenkeel_core::rng::Always;
use evenkeel_core::{Growth, Jitter, Micros, Random, SmallRng};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000;
const DRAWS: [u32; 6] = [0, 1, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX];

/// The first `n` delays of a schedule, in microseconds.
fn delays<R: Random>(
    n: usize,
    mut draws: R,
    next: impl Fn(&mut Growth, &mut R) -> Micros,
) -> Vec<u64> {
    let mut growth = Growth::START;
    (0..n).map(|_| next(&mut growth, &mut draws).as_micros()).collect()
}

fn coap<R: Random>(n: usize, draws: R) -> Vec<u64> {
    delays(n, draws, |growth, rng| Coap::RFC_7252.next_delay(growth, rng))
}

fn dhcp4<R: Random>(n: usize, draws: R) -> Vec<u64> {
    delays(n, draws, |growth, rng| Dhcp4::RFC_2131.next_delay(growth, rng))
}

fn dhcp6<R: Random>(message: Dhcp6, n: usize, draws: R) -> Vec<u64> {
    delays(n, draws, |growth, rng| message.next_delay(growth, rng))
}

/// IRT and MRT of every message, in seconds; an MRT of zero is none.
const MESSAGES: [(Dhcp6, u64, u64); 8] = [
    (Dhcp6::SOLICIT, 1, 3_600),
    (Dhcp6::REQUEST, 1, 30),
    (Dhcp6::CONFIRM, 1, 4),
    (Dhcp6::RENEW, 10, 600),
    (Dhcp6::REBIND, 10, 600),
    (Dhcp6::INFORMATION_REQUEST, 1, 3_600),
    (Dhcp6::RELEASE, 1, 0),
    (Dhcp6::DECLINE, 1, 0),
];

#[test]
fn v22_coap_in_the_worst_case_spans_45_s_and_waits_93() {
    let retransmit = usize::from(Coap::MAX_RETRANSMIT);
    let longest = coap(retransmit + 1, Always(u32::MAX));
    let span: u64 = longest[..retransmit].iter().sum();
    let wait: u64 = longest.iter().sum();
    assert_eq!((span, wait), (45 * SECOND, 93 * SECOND));
    assert_eq!(span, Coap::MAX_TRANSMIT_SPAN.as_micros());
    assert_eq!(wait, Coap::MAX_TRANSMIT_WAIT.as_micros());
    // Twice MAX_LATENCY (100 s) and PROCESSING_DELAY (ACK_TIMEOUT) on top.
    assert_eq!(span + 202 * SECOND, Coap::EXCHANGE_LIFETIME.as_micros());
    assert_eq!(coap(5, Always(0)), [2, 4, 8, 16, 32].map(|seconds| seconds * SECOND));
}

#[test]
fn coap_draws_once_and_doubles() {
    on_random(any::<u32>(), |seed| {
        let delays = coap(60, SmallRng::seeded(seed));
        ensure!((2 * SECOND..=3 * SECOND).contains(&delays[0]), "{} first", delays[0]);
        for (last, next) in delays.iter().zip(&delays[1..]) {
            ensure!(*next == last.saturating_mul(2), "{last}, then {next}");
        }
        Ok(())
    });
}

#[test]
fn v23_dhcp4_doubles_from_4_to_64_s_and_spreads_a_second() {
    let schedule = [4, 8, 16, 32, 64, 64, 64].map(|seconds| seconds * SECOND);
    for draw in DRAWS {
        let side = (((2 * SECOND + 1) * u64::from(draw)) >> 32) as i64 - SECOND as i64;
        let due = schedule.map(|raw| (raw as i64 + side) as u64);
        assert_eq!(dhcp4(7, Always(draw)), due, "with {draw}");
    }
    let spread = dhcp4(2_000, SmallRng::seeded(1)).split_off(10);
    assert!(spread.iter().any(|delay| *delay < 64 * SECOND - SECOND * 9 / 10));
    assert!(spread.iter().any(|delay| *delay > 64 * SECOND + SECOND * 9 / 10));
}

#[test]
fn dhcp6_keeps_its_range_at_every_step() {
    on_random(any::<u32>(), |seed| {
        for (message, irt, mrt) in MESSAGES {
            let (irt, mrt) = (irt * SECOND, mrt * SECOND);
            let delays = dhcp6(message, 40, SmallRng::seeded(seed));
            let low = if message == Dhcp6::SOLICIT { irt + 1 } else { irt * 9 / 10 };
            ensure!((low..=irt * 11 / 10 + 1).contains(&delays[0]), "{} first", delays[0]);
            for (last, next) in delays.iter().zip(&delays[1..]) {
                let doubled = (last * 19 / 10)..=(last * 21 / 10 + 1);
                let capped = mrt > 0 && last * 21 / 10 + 1 > mrt;
                let in_cap = (mrt * 9 / 10..=mrt * 11 / 10).contains(next);
                ensure!(
                    (doubled.contains(next) && (mrt == 0 || *next <= mrt)) || (capped && in_cap),
                    "{message:?}: {last}, then {next}"
                );
            }
        }
        Ok(())
    });
}

#[test]
fn dhcp6_alone_goes_above_its_cap_and_by_a_tenth_at_most() {
    let highest = dhcp6(Dhcp6::REQUEST, 500, SmallRng::seeded(3)).into_iter().max().unwrap();
    assert!(highest > 30 * SECOND, "spread again at the cap");
    assert!(highest <= 33 * SECOND);
    assert!(dhcp4(500, SmallRng::seeded(3)).into_iter().all(|delay| delay <= 65 * SECOND));
    let freertos = delays(500, SmallRng::seeded(3), |growth, rng| FREERTOS.next_delay(growth, rng));
    assert!(freertos.into_iter().all(|delay| delay <= 5 * SECOND));
}

#[test]
fn freertos_is_a_plain_backoff() {
    assert_eq!(FREERTOS.jitter(), Jitter::Full);
    let ceilings = delays(6, Always(u32::MAX), |growth, rng| FREERTOS.next_delay(growth, rng));
    assert_eq!(ceilings, [500_000, 1_000_000, 2_000_000, 4_000_000, 5_000_000, 5_000_000]);
    let floors = delays(6, Always(0), |growth, rng| FREERTOS.next_delay(growth, rng));
    assert_eq!(floors, [0; 6]);
}

#[test]
fn no_overflow_in_any_profile() {
    for draw in DRAWS {
        let long = coap(100, Always(draw));
        assert_eq!(long[99], u64::MAX, "saturated, and stays");
        assert!(dhcp4(100, Always(draw)).into_iter().all(|delay| delay >= 3 * SECOND));
        for (message, irt, _) in MESSAGES {
            let delays = dhcp6(message, 100, Always(draw));
            assert!(delays.into_iter().all(|delay| delay >= irt * SECOND * 9 / 10));
        }
    }
}

/// RFC 8415, 15: what is above the longest delay is drawn around it; what is exactly that stays.
#[test]
fn the_longest_delay_itself_is_not_drawn_again() {
    let longest = 3_600_000_000u64;
    let (mut growth, mut last) = (Growth::START, 0);
    let mut next = |random: u64| {
        let mut given = Always(u32::try_from(random).unwrap());
        Dhcp6::SOLICIT.next_delay(&mut growth, &mut given).as_micros()
    };
    // Each a little less than twice the one before, and the last exactly the longest.
    for step in 0..12 {
        last = if step == 0 { next(0) } else { last };
        let wanted = (0..11 - step).fold(longest, |delay, _| delay * 100 / 197);
        let side = (last * 6_553) >> 16;
        let (lowest, width) = (2 * last - side, 2 * side + 1);
        last = next(((wanted - lowest) << 32).div_ceil(width));
        assert_eq!(last, wanted, "step {step}");
    }
    assert_eq!(last, longest);
}
