//! What a window judges, held against lists of everything that happened.

use core::time::Duration;
use std::collections::VecDeque;

use evenkeel_core::{AnyOf, Bad, Instant, LastN, TimeWindow, Trip, Verdict};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use evenkeel_tests::model::rule::Rule;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Holds `trip` against `rule`, on calls so far apart and ending so, and as bad as `bad` says.
fn judges<T: Trip>(
    trip: &T,
    mut rule: Rule,
    start: u64,
    calls: &[(u64, Verdict)],
    bad: impl Fn(Verdict) -> bool,
) -> Result<(), String> {
    let (mut memory, mut now) = (T::EMPTY, start);
    for (number, (apart, verdict)) in calls.iter().enumerate() {
        now = match now.checked_add(*apart) {
            Some(later) if later < u64::MAX => later,
            // The clock's end never comes.
            _ => return Ok(()),
        };
        let plain = if bad(*verdict) { Verdict::Failure } else { Verdict::Success };
        let due = rule.count(now, plain);
        let opened = trip.count(&mut memory, Instant::from_micros(now), *verdict);
        ensure!(!opened || due.may, "opened at call {number} of {calls:?}, {rule:?}");
        ensure!(opened || !due.must, "stayed closed at call {number} of {calls:?}, {rule:?}");
        let shown = rule.bad().is_none_or(|bad| bad == T::bad(&memory));
        ensure!(shown, "{} shown at call {number} of {calls:?}, {rule:?}", T::bad(&memory));
    }
    Ok(())
}

/// Calls a little apart or far, around the length of a bucket of 100.
fn any_calls() -> impl Strategy<Value = Vec<(u64, Verdict)>> {
    let apart = select(vec![0, 0, 1, 30, 99, 100, 101, 999, 1_000, 1_001, u64::MAX >> 1]);
    let verdict = select(vec![
        Verdict::Failure,
        Verdict::SlowFailure,
        Verdict::SlowSuccess,
        Verdict::Success,
    ]);
    vec((apart, verdict), 0..150)
}

#[test]
fn windows_judge_their_calls_and_no_others() {
    let start = select(vec![0, 1 << 48, u64::MAX - 5_000]);
    let terms = (1..129u16, 1..129u16, 1..101u8, any::<bool>(), start);
    on_random((terms, any_calls()), |((n, min, percent, slow, start), calls)| {
        let (what, is_bad): (_, fn(Verdict) -> bool) = match slow {
            true => (Bad::SlowCalls, Verdict::is_slow),
            false => (Bad::Failures, Verdict::is_failure),
        };
        let (percent_wide, min_calls) = (usize::from(percent), usize::from(min.min(n)));
        let last_n = LastN::<4>::new(n, min.min(n), percent).unwrap().counting(what);
        let seen = VecDeque::new();
        let rule = Rule::LastN { n: n.into(), min_calls, percent: percent_wide, seen };
        judges(&last_n, rule.clone(), start, &calls, is_bad)?;

        let span = Duration::from_micros(1_000);
        let window = TimeWindow::<10>::new(span, min.into(), percent).unwrap().counting(what);
        let (min_calls, seen) = (usize::from(min), Vec::new());
        let percent = percent_wide;
        let slid = Rule::Window { bucket: 100, buckets: 10, min_calls, percent, seen };
        judges(&window, slid, start, &calls, is_bad)?;

        // Two rules open when either does, and both count every call.
        let both = AnyOf { first: last_n, second: window };
        let (mut memory, mut first, mut second) =
            (<AnyOf<LastN, TimeWindow>>::EMPTY, LastN::<4>::EMPTY, TimeWindow::<10>::EMPTY);
        for (place, (_, verdict)) in calls.iter().enumerate() {
            let now = Instant::from_micros(start.saturating_add(place as u64));
            let one = last_n.count(&mut first, now, *verdict);
            let other = window.count(&mut second, now, *verdict);
            let opened = both.count(&mut memory, now, *verdict);
            ensure!(opened == (one || other), "{opened}, of {one} and {other}");
        }
        Ok(())
    });
}

/// A policy may be exchanged while its breaker stays, as by a device that reads a new one.
#[test]
fn another_length_begins_a_new_window() {
    let (wide, narrow) = (LastN::<4>::new(100, 20, 50), LastN::<4>::new(10, 5, 50));
    let (wide, narrow) = (wide.unwrap(), narrow.unwrap());
    for (before, after) in [(wide, narrow), (narrow, wide)] {
        let mut memory = LastN::<4>::EMPTY;
        for _ in 0..100 {
            assert!(!before.count(&mut memory, Instant::ZERO, Verdict::Success));
        }
        for number in 1..=after.min_calls() {
            let opened = after.count(&mut memory, Instant::ZERO, Verdict::Failure);
            assert_eq!(opened, number == after.min_calls(), "{after:?}, failure {number}");
        }
    }
}

#[test]
fn a_full_bucket_keeps_its_share() {
    let window = |percent| TimeWindow::<10>::new(Duration::from_secs(10), 1_000, percent).unwrap();
    let (stays_closed, opens) = (window(50), window(35));
    let (mut one, mut other) = (TimeWindow::<10>::EMPTY, TimeWindow::<10>::EMPTY);
    let mut opened = false;
    for number in 0..200_000 {
        let verdict = if number % 10 < 6 { Verdict::Success } else { Verdict::Failure };
        assert!(!stays_closed.count(&mut one, Instant::ZERO, verdict), "at call {number}");
        opened = opens.count(&mut other, Instant::ZERO, verdict);
    }
    assert!(opened, "four in ten are more than a third");
}

/// What the rules above are asked about is written down here once more, by hand.
/// However many calls come: a full bucket is halved, and what is left is enough.
#[test]
fn the_most_calls_that_may_be_asked_for_are_reached() {
    let window = Duration::from_secs(2);
    let trip = TimeWindow::<2>::new(window, 2 * 32_767, 100).unwrap();
    assert!(TimeWindow::<2>::new(window, 2 * 32_767 + 1, 100).is_err());
    for each in [32_767, 65_536, 65_537, 200_000] {
        let mut memory = TimeWindow::<2>::EMPTY;
        let mut opens = false;
        for second in 1..3 {
            let now = Instant::from_micros(second * 1_000_000);
            opens = (0..each).fold(false, |_, _| trip.count(&mut memory, now, Verdict::Failure));
        }
        assert!(opens, "after {each} in each second");
    }
}

#[test]
fn a_verdict_is_bad_or_slow_or_both() {
    let verdicts = [
        (Verdict::Failure, true, false),
        (Verdict::Ignored, false, false),
        (Verdict::SlowFailure, true, true),
        (Verdict::SlowSuccess, false, true),
        (Verdict::Success, false, false),
    ];
    for (verdict, failed, slow) in verdicts {
        assert_eq!((verdict.is_failure(), verdict.is_slow()), (failed, slow), "{verdict:?}");
    }
}

/// Two rules show the larger of what they count.
#[test]
fn two_rules_show_the_worse_count() {
    type Both = AnyOf<LastN, LastN>;
    let (failures, slow) = (LastN::<4>::new(100, 100, 50).unwrap(), Bad::SlowCalls);
    let both = Both { first: failures, second: failures.counting(slow) };
    let mut memory = Both::EMPTY;
    assert_eq!(Both::bad(&memory), 0);
    for (verdict, shown) in [
        (Verdict::SlowSuccess, 1),
        (Verdict::SlowSuccess, 2),
        (Verdict::Failure, 2),
        (Verdict::SlowFailure, 3),
        (Verdict::Failure, 3),
        (Verdict::Failure, 4),
    ] {
        both.count(&mut memory, Instant::ZERO, verdict);
        assert_eq!(Both::bad(&memory), shown, "after {verdict:?}");
    }
}
