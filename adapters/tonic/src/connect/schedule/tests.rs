use core::time::Duration;

use evenkeel_tokio::core::{Instant, Micros};

use super::{Ask, DialError, DialPolicy, Phase, Schedule, Serial, State};

fn at(millis: u64) -> Instant {
    Instant::from_micros(millis * 1_000)
}

fn plain(seed: u32) -> Schedule {
    Schedule::new(DialPolicy::DEFAULT, false, seed)
}

/// Dials and fails at once; answers the pause that follows.
fn fail(schedule: &mut Schedule, now: Instant) -> Micros {
    let serial = schedule.begin(now).unwrap();
    schedule.failed(now, serial, DialError::Abandoned);
    pause_end(schedule).since(now)
}

fn pause_end(schedule: &Schedule) -> Instant {
    let Phase::Paused { until, .. } = schedule.phase else { panic!("{schedule:?}") };
    until
}

/// Dials and succeeds.
fn connect(schedule: &mut Schedule, now: Instant) -> Serial {
    let serial = schedule.begin(now).unwrap();
    schedule.connected(now, serial);
    serial
}

#[track_caller]
fn assert_around(pause: Micros, millis: f64, cap: u64) {
    let pause = pause.as_micros() as f64 / 1_000.0;
    // The multiplier is rounded to 16 bits: a few millionths.
    let (low, high) = (millis * 0.8 * 0.999, (millis * 1.2 * 1.001).min(cap as f64));
    assert!((low..=high).contains(&pause), "{pause} ms is not in {low}..={high}");
}

#[test]
fn pauses_grow_as_grpcs() {
    // G86.
    for seed in 0..200 {
        let mut schedule = plain(seed);
        let (mut now, mut raw) = (at(0), 1_000.0);
        for _ in 0..15 {
            let pause = fail(&mut schedule, now);
            assert_around(pause, raw, 120_000);
            let end = pause_end(&schedule);
            let early = Instant::from_micros(end.as_micros() - 1);
            assert_eq!(schedule.begin(early), None);
            now = end;
            raw = f64::min(raw * 1.6, 120_000.0);
        }
    }
}

#[test]
fn seeds_come_back_at_different_times() {
    // Also once all pauses are at the cap.
    let mut pauses: Vec<_> = (0..100)
        .map(|seed| {
            let mut schedule = plain(seed);
            (0..20).fold((at(0), Micros::ZERO), |(now, _), _| {
                let pause = fail(&mut schedule, now);
                (now + pause, pause)
            })
        })
        .map(|(_, pause)| pause)
        .collect();
    pauses.sort();
    pauses.dedup();
    assert_eq!(pauses.len(), 100);
}

#[test]
fn a_good_connection_resets_the_pauses() {
    let mut schedule = plain(1);
    let mut now = at(0);
    for _ in 0..6 {
        now = now + fail(&mut schedule, now);
    }
    let serial = connect(&mut schedule, now);
    schedule.heard(serial);
    schedule.lost(now, serial);
    assert!(matches!(schedule.state(), State::Idle));
    assert_around(fail(&mut schedule, now), 1_000.0, 120_000);
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_a_failed_dial() {
    let mut schedule = plain(1);
    let (mut now, mut raw) = (at(0), 1_000.0);
    for _ in 0..5 {
        let serial = connect(&mut schedule, now);
        assert!(matches!(schedule.state(), State::Ready));
        now = now + Micros::from_millis(3);
        schedule.lost(now, serial);
        assert_around(pause_end(&schedule).since(now), raw, 120_000);
        let State::TransientFailure(failure) = schedule.state() else { panic!() };
        assert_eq!(failure.cause().to_string(), "connection lost after 3.0ms");
        now = pause_end(&schedule);
        raw *= 1.6;
    }
}

#[test]
fn below_tls_bytes_alone_are_no_proof() {
    for (lived, good) in [(10, false), (999, false), (1_000, true)] {
        let mut schedule = Schedule::new(DialPolicy::DEFAULT, true, 1);
        let serial = connect(&mut schedule, at(0));
        schedule.heard(serial);
        schedule.lost(at(lived), serial);
        assert_eq!(matches!(schedule.state(), State::Idle), good, "lived {lived} ms");
    }
}

#[test]
fn an_unused_connection_says_nothing() {
    let mut schedule = plain(1);
    let after_first = at(0) + fail(&mut schedule, at(0));
    let serial = schedule.begin(after_first).unwrap();
    schedule.connected(after_first, serial);
    schedule.unwanted(serial);
    schedule.lost(after_first, serial);
    assert!(matches!(schedule.state(), State::Idle));
    // Neither a failed dial nor a good one: the growth is where it was.
    assert_around(fail(&mut schedule, after_first), 1_600.0, 120_000);
}

#[test]
fn pauses_are_short_while_a_call_waits_and_join_the_ordinary_ones() {
    for seed in 0..200 {
        let mut schedule = plain(seed);
        schedule.enroll();
        let short = (0..9).map(|n| 20.0 * 1.6_f64.powi(n));
        let ordinary = (0..4).map(|n| 1_000.0 * 1.6_f64.powi(n));
        let mut now = at(0);
        for raw in short.chain(ordinary) {
            let pause = fail(&mut schedule, now);
            assert_around(pause, raw, 120_000);
            now = now + pause;
        }
    }
}

#[test]
fn a_call_that_begins_to_wait_cuts_the_pause_short() {
    let mut schedule = plain(1);
    fail(&mut schedule, at(0));
    let before = schedule.changes();
    schedule.enroll();
    assert_around(pause_end(&schedule).since(at(0)), 20.0, 120_000);
    assert_ne!(schedule.changes(), before, "those who wait for the pause's end must hear of it");
    // Further ones do not.
    let end = pause_end(&schedule);
    schedule.leave();
    schedule.enroll();
    schedule.enroll();
    assert_eq!(pause_end(&schedule), end);
}

#[test]
fn a_pause_cut_short_is_not_counted_as_an_ordinary_one() {
    let mut schedule = plain(1);
    let mut now = at(0);
    for _ in 0..9 {
        fail(&mut schedule, now);
        schedule.enroll();
        schedule.leave();
        now = pause_end(&schedule);
    }
    assert_around(fail(&mut schedule, now), 1_000.0, 120_000);
}

#[test]
fn short_pauses_are_spent_once_per_outage() {
    // F135: a thousand callers one after another, each with a short deadline of its own.
    let mut schedule = plain(1);
    let (mut now, mut dials) = (at(0), 0);
    while now < at(600_000) {
        schedule.enroll();
        if schedule.begin(now).is_some() {
            dials += 1;
            schedule.failed(now, schedule.last, DialError::Abandoned);
        }
        schedule.leave();
        now = now + Micros::from_millis(10);
    }
    // Nine short ones, eleven up to the cap within 318 s, then one in 120 s.
    assert!((18..=26).contains(&dials), "{dials} dials in 10 min");
}

#[test]
fn a_call_that_begins_to_wait_never_lengthens_a_pause() {
    // The last of the short pauses, 859 ms + 20 %, can be longer than an ordinary 1 s − 20 %.
    for seed in 0..200 {
        let mut schedule = plain(seed);
        schedule.enroll();
        let now = (0..8).fold(at(0), |now, _| now + fail(&mut schedule, now));
        schedule.leave();
        fail(&mut schedule, now);
        let end = pause_end(&schedule);
        schedule.enroll();
        assert!(pause_end(&schedule) <= end, "seed {seed}");
    }
}

#[test]
fn short_pauses_join_where_the_ordinary_ones_begin() {
    // Also where the cap is what begins them, and where there is no shorter one to begin with.
    for (initial, max, expected) in [
        (50, 1_000, [20.0, 32.0, 50.0, 80.0]),
        (1_000, 50, [20.0, 32.0, 50.0, 50.0]),
        (20, 1_000, [20.0, 32.0, 51.2, 81.9]),
        (10, 10, [10.0, 10.0, 10.0, 10.0]),
    ] {
        let policy = DialPolicy::new(Duration::from_millis(initial), Duration::from_millis(max));
        let mut schedule = Schedule::new(policy.unwrap(), false, 1);
        schedule.enroll();
        let mut now = at(0);
        for raw in expected {
            let pause = fail(&mut schedule, now);
            assert_around(pause, raw, max);
            now = now + pause;
        }
    }
}

#[test]
fn one_dial_at_a_time() {
    let mut schedule = plain(1);
    assert!(schedule.begin(at(0)).is_some());
    assert!(schedule.begin(at(1)).is_none());
    assert!(matches!(schedule.ask(at(1)), Ask::Join));
}

/// Whoever waits asks while the next dial is under way, as often as not.
#[test]
fn the_last_failure_is_known_until_there_is_a_connection() {
    let mut schedule = plain(1);
    assert!(schedule.last_failure().is_none());
    let first = schedule.begin(at(0)).unwrap();
    schedule.failed(at(1), first, DialError::Abandoned);
    let next = schedule.begin(pause_end(&schedule)).unwrap();
    assert!(matches!(schedule.last_failure(), Some(DialError::Abandoned)));
    schedule.connected(at(9_000), next);
    assert!(schedule.last_failure().is_none());
    schedule.lost(at(9_001), next);
    assert!(matches!(schedule.last_failure(), Some(DialError::LostEarly { .. })));
    schedule.reached();
    assert!(schedule.last_failure().is_none(), "it says nothing any more");
}

#[test]
fn a_refusal_says_when_and_why() {
    let mut schedule = plain(1);
    let Ask::Dial(serial) = schedule.ask(at(0)) else { panic!("{schedule:?}") };
    let limit = Micros::from_millis(5_000);
    schedule.failed(at(5_000), serial, DialError::TimedOut { limit });
    let end = pause_end(&schedule);
    let Ask::Refused(refusal) = schedule.ask(at(5_100)) else { panic!("{schedule:?}") };
    assert_eq!(refusal.retry_at(), end);
    assert_eq!(refusal.retry_after(), end.since(at(5_100)).as_duration());
    assert_eq!(refusal.to_string(), format!("not connected, next try in {}", end.since(at(5_100))));
    assert_eq!(refusal.cause().to_string(), "no connection within 5.00s");
}

#[test]
fn asking_while_connected_replaces_the_connection() {
    let mut schedule = plain(1);
    let drained = connect(&mut schedule, at(0));
    schedule.heard(drained);
    let Ask::Dial(fresh) = schedule.ask(at(10)) else { panic!("{schedule:?}") };
    assert_ne!(drained, fresh);
}

#[test]
fn an_earlier_connection_changes_nothing() {
    let mut schedule = plain(1);
    let drained = connect(&mut schedule, at(0));
    schedule.heard(drained);
    let Ask::Dial(fresh) = schedule.ask(at(10)) else { panic!("{schedule:?}") };
    let before = schedule.changes();
    schedule.lost(at(11), drained);
    schedule.failed(at(11), drained, DialError::Abandoned);
    schedule.connected(at(11), drained);
    assert_eq!(schedule.changes(), before);

    schedule.connected(at(12), fresh);
    schedule.heard(drained);
    schedule.unwanted(drained);
    schedule.lost(at(13), drained);
    assert!(matches!(schedule.state(), State::Ready));
    // Had the old one's bytes counted, this would be idle.
    schedule.lost(at(13), fresh);
    assert!(matches!(schedule.state(), State::TransientFailure(_)));
}

#[test]
fn a_target_that_was_reached_in_another_way_may_be_dialled_at_once() {
    let mut schedule = plain(7);
    let mut now = at(0);
    for _ in 0..10 {
        fail(&mut schedule, now);
        now = pause_end(&schedule);
    }
    fail(&mut schedule, now);
    assert_eq!(schedule.begin(now), None);
    let changes = schedule.changes();
    schedule.reached();
    assert!(matches!(schedule.state(), State::Idle) && schedule.changes() > changes);
    assert_around(fail(&mut schedule, now), 1_000.0, 120_000);
}

#[test]
fn what_becomes_of_a_dial_from_before_says_nothing() {
    // A machine that is away swallows the dial; it is back, and the old dial still hangs, or its
    // connection turns out to be with the process before.
    for is_connected in [false, true] {
        let mut schedule = plain(7);
        let grown = (0..10).fold(at(0), |now, _| now + fail(&mut schedule, now));
        let serial = schedule.begin(grown).unwrap();
        if is_connected {
            schedule.connected(grown, serial);
        }
        schedule.reached();
        if is_connected {
            schedule.lost(grown, serial);
        } else {
            assert!(schedule.failed(grown, serial, DialError::Abandoned));
        }
        assert!(matches!(schedule.state(), State::Idle), "{schedule:?}");
        // The next one is from now, and its failure is the first.
        assert_around(fail(&mut schedule, grown), 1_000.0, 120_000);
    }
}

#[test]
fn without_a_pause_it_changes_nothing() {
    let mut schedule = plain(7);
    let changes = schedule.changes();
    schedule.reached();
    assert_eq!(schedule.changes(), changes);
    let serial = connect(&mut schedule, at(0));
    let changes = schedule.changes();
    schedule.reached();
    assert_eq!(schedule.changes(), changes);
    assert!(matches!(schedule.state(), State::Ready));
    schedule.heard(serial);
}

/// Who is blamed for a call that has come to its deadline.
#[test]
fn a_connection_is_being_made_for_those_who_can_have_had_no_other() {
    let mut schedule = plain(1);
    assert!(!schedule.is_making(at(5)), "nobody dials");
    let serial = schedule.begin(at(5)).unwrap();
    assert!(schedule.is_making(at(0)) && schedule.is_making(at(5)));
    schedule.connected(at(6), serial);
    assert!(!schedule.is_making(at(5)), "it is made");
    // The server drains it: a call from before may still be on it.
    schedule.heard(serial);
    let Ask::Dial(fresh) = schedule.ask(at(10)) else { panic!("{schedule:?}") };
    let told = [9, 10, 11].map(|since| schedule.is_making(at(since)));
    assert_eq!(told, [false, false, true]);
    schedule.failed(at(20), fresh, DialError::Abandoned);
    assert!(!schedule.is_making(at(11)), "that is another error");

    let mut secure = Schedule::new(DialPolicy::DEFAULT, true, 1);
    let serial = connect(&mut secure, at(0));
    assert!(secure.is_making(at(0)), "TLS has not begun");
    secure.heard(serial);
    assert!(!secure.is_making(at(0)));
}
