//! Incidents of growing waits: F01 to F09, and F11. What happened is in `docs/incidents.md`.

use core::time::Duration;

use evenkeel_core::{
    Action, Backoff, Call, Deadline, Growth, Instant, Jitter, Single, SmallRng, StopReason,
};

use crate::driver::U;
use crate::policies::{calls_within, exact, millis, ms};

/// The waits before retries 1 to `n`, in milliseconds.
fn waits(backoff: &Backoff, n: usize) -> Vec<u64> {
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(1));
    let mut next = || backoff.next_delay(&mut growth, &mut rng).as_micros();
    (0..n).map(|_| next() / 1_000).collect()
}

fn plain(initial: u64, max: u64) -> Backoff {
    let backoff = Backoff::new(millis(initial), millis(max)).unwrap();
    backoff.with_jitter(Jitter::None).unwrap()
}

#[test]
fn f01_after_seventy_steps_it_still_waits_the_cap() {
    let waits = waits(&plain(5_000, 20_000), 71);
    assert!(waits[2..].iter().all(|wait| *wait == 20_000));
    assert!(waits.is_sorted());
}

#[test]
fn f02_the_cap_holds_the_growth_and_not_only_what_is_handed_out() {
    assert_eq!(waits(&plain(1_000, 10), 100), [10; 100]);
}

/// 200,000 steps stand for every number of steps: by then the growth has long stopped changing.
#[test]
fn f03_no_number_of_steps_wraps() {
    let backoff = plain(100, 5_000);
    let waits = waits(&backoff, 200_000);
    for step in [63, 64, 65, 1_000, 199_999] {
        assert_eq!(waits[step], 5_000, "step {step}");
    }
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(1));
    backoff.next_delay(&mut growth, &mut rng);
    let mut before = growth;
    while backoff.next_delay(&mut growth, &mut rng) < ms(5_000) || before != growth {
        before = growth;
    }
    let standing = growth;
    backoff.next_delay(&mut growth, &mut rng);
    assert_eq!(growth, standing, "from here on every step is the same");
}

#[test]
fn f04_the_overflow_takes_the_same_cap() {
    let waits = waits(&plain(2_000, 300_000), 100);
    assert_eq!((waits[59], waits[99]), (300_000, 300_000));
}

/// There is always a cap; the longest is just below 2^48 µs.
#[test]
fn f05_decorrelated_waits_saturate_at_the_longest_cap() {
    let longest = Duration::from_micros((1 << 48) - 1);
    let backoff = Backoff::new(millis(1_000), longest).unwrap();
    let backoff = backoff.with_jitter(Jitter::Decorrelated).unwrap();
    let waits = waits(&backoff, 200);
    assert!(waits.iter().all(|wait| (1_000..1 << 48).contains(wait)));
    assert!(waits.iter().max() > Some(&1_000_000_000), "it grew far enough to overflow");
}

#[test]
fn f07_the_first_wait_is_the_initial_one() {
    assert_eq!(waits(&exact(100), 5), [100, 200, 400, 800, 1_600]);
}

#[test]
fn f08_small_and_large_steps_are_alike() {
    let waits = waits(&plain(100, 3_600_000), 65);
    assert_eq!(waits[0], 100);
    for step in [36, 37, 38, 63, 64] {
        assert_eq!(waits[step], 3_600_000, "step {step}");
    }
}

#[test]
fn f09_each_wait_is_the_factor_times_the_one_before() {
    let six = exact(6).with_multiplier(6_000).unwrap();
    assert_eq!(waits(&six, 4), [6, 36, 216, 1_296]);
}

/// The end is a variant of its own and stays the end, however often a driver asks.
#[test]
fn f11_the_end_is_no_wait() {
    let policy = calls_within(900_000, u16::MAX, 60_000);
    let mut upstream = Single::new(&policy);
    let mut now = Instant::from_micros(3);
    let mut call = Call::new(policy.deadline(now, Deadline::NONE), 1);
    let reason = loop {
        match call.poll(now, &mut upstream) {
            Action::Attempt(attempt) => {
                call.complete(now, &mut upstream, attempt, U);
            }
            Action::WaitUntil(at) => now = at,
            Action::Finish(reason) => break reason,
        }
    };
    assert_eq!(reason, StopReason::DeadlineWouldPass);
    for _ in 0..100 {
        assert_eq!(call.poll(now, &mut upstream), Action::Finish(reason));
        now = now + ms(60_000);
    }
    assert!(call.attempts() > 10, "it had really tried");
}
