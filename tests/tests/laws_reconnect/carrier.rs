//! This file knows what becomes of a dial whose medium was gone: it is drawn anew, and it is made.

use core::cell::Cell;
use core::time::Duration;
use std::collections::BTreeMap;

use evenkeel_core::{
    Backoff, Instant, Jitter, Micros, Reconnect, ReconnectAction, ReconnectPolicy, checked,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::walk::SECOND;

static AT_ONCE: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO));
const START: Instant = Instant::from_micros(SECOND);

/// A link whose dials have failed so many times, each at once, and when it is to dial again.
fn waiting(seed: u32, failures: u8) -> (Reconnect, Instant) {
    let (mut link, mut now) = (Reconnect::new(seed), START);
    let mut left = failures;
    while left > 0 {
        match link.poll(now, &AT_ONCE) {
            ReconnectAction::Dial(dial) => {
                now = link.failed(now, dial, None, &AT_ONCE).unwrap().dial_at;
                left -= 1;
            }
            ReconnectAction::WaitUntil(at) => now = at,
            other => panic!("{other:?}"),
        }
    }
    (link, now)
}

/// Dials when it is due and the medium is there, which is asked each time and says when it will be.
fn dialled(link: &mut Reconnect, mut now: Instant, there: impl Fn(Instant) -> Instant) -> Instant {
    for _ in 0..10 {
        let back = there(now);
        if back > now {
            link.carrier_back(back, &AT_ONCE);
        }
        match link.poll(back, &AT_ONCE) {
            ReconnectAction::Dial(_) => return back,
            ReconnectAction::WaitUntil(at) => now = at,
            other => panic!("{other:?}"),
        }
    }
    panic!("asked ten times and still no dial")
}

/// A modem is asked over a wire, so that its answer always takes a moment: that must not be taken
/// for a cable that was out, time after time, with never a dial.
#[test]
fn a_medium_that_is_slow_to_answer_is_dialled_over() {
    on_random((any::<u32>(), 1..12u8, any::<u64>()), |(seed, failures, slow)| {
        let (mut link, due) = waiting(seed, failures);
        // From a microsecond to two weeks.
        let slow = Micros::from_micros((slow >> (24 + slow % 40)).max(1));
        let asked = Cell::new(0);
        let at = dialled(&mut link, due, |now| {
            asked.set(asked.get() + 1);
            now.after(slow)
        });
        ensure!(asked.get() <= 4, "asked {} times", asked.get());
        // Four answers, and three waits that were no longer than they.
        ensure!(at.since(due) <= Micros::from_micros(slow.as_micros() * 7), "{at:?} for {due:?}");
        Ok(())
    });
}

/// A dial that is due later is where chance had put it, and stays there.
#[test]
fn a_dial_that_is_not_overdue_stays() {
    let (link, due) = waiting(3, 5);
    let dialled = |mut link: Reconnect| (link.poll(due, &AT_ONCE), link);
    for back in [START, due] {
        let mut told = link.clone();
        told.carrier_back(back, &AT_ONCE);
        assert_eq!(dialled(told), dialled(link.clone()), "due at {due:?}, back at {back:?}");
    }
}

/// However often that was so of the dials before it.
#[test]
fn every_dial_is_drawn_anew_when_its_medium_was_gone() {
    let (mut link, mut due) = waiting(5, 1);
    for number in 2..20 {
        let back = due.after(Micros::from_millis(600_000));
        link.carrier_back(back, &AT_ONCE);
        let act = link.poll(back, &AT_ONCE);
        let ReconnectAction::WaitUntil(at) = act else {
            panic!("{act:?} in the instant it is back")
        };
        let ReconnectAction::Dial(dial) = link.poll(at, &AT_ONCE) else {
            panic!("no dial at {at:?}")
        };
        assert_eq!(dial.number(), number);
        due = link.failed(at, dial, None, &AT_ONCE).unwrap().dial_at;
    }
}

/// A fleet that waits for one switch, which goes up and down a few times as it starts.
#[test]
fn a_switch_that_flaps_is_no_starting_gun() {
    let outages = vec((1..30u64, 1..90u64), 0..3);
    on_random((any::<u16>(), outages), |(salt, more)| {
        // Five minutes in which hardly anybody is not overdue, and then some more.
        let mut end = START.as_micros() / SECOND + 500;
        let mut outages = vec![(0, end)];
        for (up, down) in more {
            outages.push((end + up, end + up + down));
            end += up + down;
        }
        let there = |now: Instant| {
            let out = |(from, to): &&(u64, u64)| (*from..*to).contains(&(now.as_micros() / SECOND));
            outages.iter().find(out).map_or(now, |(_, to)| Instant::from_micros(to * SECOND))
        };
        let mut tenths = BTreeMap::<u64, u32>::new();
        for device in 0..400u32 {
            let (mut link, due) = waiting(u32::from(salt) << 16 | device, 12);
            let at = dialled(&mut link, due, there).as_micros();
            *tenths.entry(at / (SECOND / 10)).or_default() += 1;
        }
        // Over one step, which is two minutes, they would be three a second. Where the switch was up
        // for a second only, those who were due in it are as near to each other again.
        let most = tenths.values().max();
        ensure!(most < Some(&20), "{most:?} of 400 in a tenth of a second: {outages:?}");
        Ok(())
    });
}

/// Devices that wake at the same instant, as at the full hour, are spread by nothing but this.
#[test]
fn those_that_wake_together_are_even_with_any_jitter() {
    let backoff = checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(120)));
    for jitter in [Jitter::None, Jitter::Equal, Jitter::Full, Jitter::Proportional(100)] {
        let policy = AT_ONCE.with_backoff(backoff.with_jitter(jitter).unwrap()).unwrap();
        let mut fifths = [0; 5];
        for seed in 0..1_000 {
            let mut link = Reconnect::new(seed);
            let ReconnectAction::Dial(first) = link.poll(START, &policy) else { panic!("a dial") };
            let due = link.failed(START, first, None, &policy).unwrap().dial_at;
            let woken = due.after(Micros::from_millis(3_600_000));
            link.carrier_back(woken, &policy);
            let ReconnectAction::WaitUntil(at) = link.poll(woken, &policy) else {
                panic!("{jitter:?}: {seed} dials as it wakes")
            };
            // A step of two seconds, and a tenth of it where that is added.
            let fifth = at.since(woken).as_micros() / 440_000;
            fifths[usize::try_from(fifth).unwrap()] += 1;
        }
        assert!(fifths.iter().all(|each| (100..300).contains(each)), "{jitter:?}: {fifths:?}");
    }
}
