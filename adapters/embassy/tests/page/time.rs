//! Counts that wrap, clocks that stop or begin again, and a device that sleeps.

use core::time::Duration;

use evenkeel_core::{
    Action, BreakerPolicy, BreakerTable, Call, CallPolicy, Consecutive, Deadline, Instant,
    Reconnect, ReconnectAction, ReconnectPolicy, Single, Verdict, checked,
};

use crate::says;

static CALL: CallPolicy = CallPolicy::DEFAULT;
static LINK: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO));
const MINUTE: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(1)));
const HOUR: u64 = 3_600;

const fn at(seconds: u64) -> Instant {
    Instant::from_micros(seconds * 1_000_000)
}

/// What a count of microseconds in 32 bits shows.
fn short(seconds: u64) -> Instant {
    Instant::from_micros(at(seconds).as_micros() & u64::from(u32::MAX))
}

#[test]
fn a_count_that_wraps_stops_a_link_and_a_call_for_good() {
    says("A count of microseconds in 32 bits wraps after 71 minutes");
    says("every wait that was to end after it is for ever");
    const WRAP: u64 = (1 << 32) / 1_000_000;
    assert_eq!(WRAP / 60, 71);
    // A link whose dials all fail, for four hours.
    let dials_after = |clock: fn(u64) -> Instant| {
        let mut link = Reconnect::new(7);
        let mut dials = Vec::new();
        for second in 0..4 * HOUR {
            if let ReconnectAction::Dial(dial) = link.poll(clock(second), &LINK) {
                dials.push(second);
                let _ = link.failed(clock(second), dial, None, &LINK);
            }
        }
        assert!(dials.len() > 20, "{dials:?}");
        dials.iter().filter(|second| **second > WRAP).count()
    };
    assert!(dials_after(at) > 100);
    assert_eq!(dials_after(short), 0);
    // A call that is never answered, and whose deadline is in the next lap.
    let ends = |clock: fn(u64) -> Instant| {
        let mut call = Call::new(Deadline::at(at(WRAP + 5)), 7);
        let mut upstream = Single::new(&CALL);
        let first = call.poll(clock(WRAP - 5), &mut upstream);
        assert!(matches!(first, Action::Attempt(_)), "{first:?}");
        let mut ends = (WRAP..4 * HOUR)
            .map(|second| call.poll(clock(second), &mut upstream))
            .filter(|action| matches!(action, Action::Finish(_)));
        ends.next().is_some()
    };
    assert!(ends(at) && !ends(short));
}

#[test]
fn a_small_step_back_prolongs_waits_and_repeats_nothing() {
    says("For a call and a link time stands still until it has caught up");
    says("waits are longer by as much, and nothing comes twice");
    // When there are attempts, dials, and the end of a call that nobody answers.
    let seconds = |clock: fn(u64) -> Instant| {
        let mut call = Call::new(Deadline::at(at(60)), 7);
        let (mut upstream, mut link) = (Single::new(&CALL), connected(7));
        let (mut attempts, mut dials, mut ends) = (vec![], vec![], vec![]);
        for second in 30..70 {
            match call.poll(clock(second), &mut upstream) {
                Action::Attempt(_) => attempts.push(second),
                Action::Finish(_) => ends.push(second),
                Action::WaitUntil(_) => {}
            }
            if second == 39 {
                let dial_at = link.lost(at(39), None, &LINK).unwrap().dial_at;
                assert!(at(39) < dial_at && dial_at <= at(40), "{dial_at:?}");
            } else if matches!(link.poll(clock(second), &LINK), ReconnectAction::Dial(_)) {
                dials.push(second);
            }
        }
        (attempts, dials[0], dials.len(), ends[0])
    };
    let (attempts, dial, dials, end) = seconds(at);
    assert_eq!((attempts, dial, end), (vec![30], 40, 60));
    // In the fortieth second it goes back by five.
    let back = seconds(|second| at(if second < 40 { second } else { second - 5 }));
    assert_eq!(back, (vec![30], 45, dials, 65));
}

/// A link whose session is up since the first instant.
fn connected(seed: u32) -> Reconnect {
    let mut link = Reconnect::new(seed);
    let ReconnectAction::Dial(dial) = link.poll(at(1), &LINK) else { panic!("it is due") };
    assert!(link.connected(at(1), dial, &LINK));
    link
}

#[test]
fn a_sleep_is_taken_for_a_session_unless_the_link_is_lost_before_it() {
    says("call `lost` before you sleep: a sleep would else count as a session that proved itself");
    // Ten seconds of session, and an hour of sleep.
    let failures = |lost: u64| connected(7).lost(at(lost), None, &LINK).unwrap().failures;
    assert_eq!((failures(11), failures(11 + HOUR)), (1, 0));
}

#[test]
fn who_wakes_together_dials_together_without_a_word_of_it() {
    says("`carrier_back` before they poll");
    let dial_at = |seed, told: bool| {
        let mut link = connected(seed);
        let _ = link.lost(at(11), None, &LINK);
        if told {
            link.carrier_back(at(HOUR), &LINK);
        }
        match link.poll(at(HOUR), &LINK) {
            ReconnectAction::Dial(_) => at(HOUR),
            ReconnectAction::WaitUntil(at) => at,
            other => panic!("{other:?}"),
        }
    };
    assert!((0..100).all(|seed| dial_at(seed, false) == at(HOUR)));
    let mut apart: Vec<Instant> = (0..100).map(|seed| dial_at(seed, true)).collect();
    apart.sort();
    apart.dedup();
    assert!(apart.len() > 95, "{} instants of 100 devices", apart.len());
}

/// A table with a breaker that opened at this second, for a minute.
fn opened(second: u64) -> BreakerTable<u16, 2> {
    let mut table = BreakerTable::new();
    let permit = table.admit(at(second), 1, Deadline::NONE, &MINUTE).unwrap();
    let _ = table.record(at(second), 1, permit, Verdict::Failure, &MINUTE);
    table
}

fn admits(mut table: BreakerTable<u16, 2>, now: Instant) -> bool {
    table.admit(now, 1, Deadline::NONE, &MINUTE).is_ok()
}

#[test]
fn a_clock_that_stops_in_a_sleep_prolongs_every_wait_by_it() {
    says("if it stops instead, every wait is longer by the sleep");
    // Half a minute awake, an hour asleep, and the other half of the minute.
    assert!(admits(opened(0), at(30 + HOUR)), "the clock has counted it");
    assert!(!admits(opened(0), at(30)) && !admits(opened(0), at(59)), "the clock has not");
    assert!(admits(opened(0), at(60)));
}

#[test]
fn after_a_clock_that_begins_again_what_was_kept_stands_still() {
    says("After a clock that begins again at zero make all machines anew");
    let first_dial = |mut link: Reconnect| {
        (0..3 * HOUR)
            .find(|second| matches!(link.poll(at(*second), &LINK), ReconnectAction::Dial(_)))
    };
    let mut kept = Reconnect::new(7);
    let ReconnectAction::Dial(dial) = kept.poll(at(2 * HOUR), &LINK) else { panic!("it is due") };
    let _ = kept.failed(at(2 * HOUR), dial, None, &LINK);
    assert!(first_dial(kept) >= Some(2 * HOUR), "as long as it had run before");
    assert_eq!(first_dial(Reconnect::new(7)), Some(0));
    assert!(!admits(opened(2 * HOUR), at(2 * HOUR - 1)), "an open breaker stays open as long");
    assert!(admits(BreakerTable::new(), at(0)));
}
