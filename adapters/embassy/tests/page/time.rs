//! Counts that wrap.

use core::time::Duration;

use evenkeel_core::{
    Action, Call, CallPolicy, Deadline, Instant, Reconnect, ReconnectAction, ReconnectPolicy,
    Single, checked,
};

use crate::says;

static CALL: CallPolicy = CallPolicy::DEFAULT;
static LINK: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO));
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
