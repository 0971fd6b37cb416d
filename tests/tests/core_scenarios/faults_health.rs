//! Incidents of health checks and balancing: F121 to F132. What happened is in `docs/incidents.md`.

use evenkeel_core::{
    EjectionPolicy, FailurePercentage, HealthPolicy, HealthWatch, Instant, Micros, Outcome,
    OutlierPolicy, OutlierSweep, Refusal, Report, Strategy, Weight,
};

use crate::driver::OK as SUCCESS;
use crate::fleet::Fleet;
use crate::policies::{millis, ms, opens_after};
use crate::probed::{ERR, NONE, NOT, OK, Probed, every};

const START: Instant = Instant::from_micros(7_000_000);

fn ended(outcome: Outcome) -> Report {
    Report { outcome, took: ms(1), weight: Weight::Counts }
}

#[test]
fn f121_a_peer_without_a_health_service_stays_in_the_fleet() {
    let mut watch = HealthWatch::new(1);
    watch.ended(START, NONE, &HealthPolicy::DEFAULT);
    assert_eq!((watch.is_healthy(), watch.due()), (Some(true), Instant::MAX));
    let mut probed = Probed::new(every(1_000, 0));
    probed.ask(&[(0, NONE), (0, ERR), (0, NONE)]);
    let told: Vec<bool> = probed.changed.iter().map(|(_, healthy)| *healthy).collect();
    assert_eq!(told, [true, false, true]);
}

#[test]
fn f122_a_working_connection_is_no_good_answer() {
    let mut probed = Probed::new(HealthPolicy::DEFAULT);
    probed.ask(&[(0, NOT)]);
    assert_eq!(probed.health.is_healthy(), Some(false));
}

/// A thousand streams that open and break, and ones that say a word before: never a loop.
#[test]
fn f123_a_watch_that_breaks_is_not_opened_in_a_loop() {
    let policy = HealthPolicy::DEFAULT;
    for speaks in [false, true] {
        let (mut watch, mut now) = (HealthWatch::new(3), START);
        let mut opened = Vec::new();
        for _ in 0..1_000 {
            now = now.max(watch.due());
            opened.push(now);
            if speaks {
                watch.message(OK, &policy);
            }
            now = now + Micros::from_micros(100);
            watch.ended(now, ERR, &policy);
        }
        let quick = opened.windows(2).filter(|pair| pair[1].since(pair[0]) < ms(800)).count();
        assert!(if speaks { quick <= 500 } else { quick == 0 }, "{quick} at once");
        assert!(opened.windows(3).all(|three| three[2].since(three[0]) >= ms(800)));
    }
}

/// The endpoint that fails at once always has the fewest attempts in flight.
#[test]
fn f127_failing_fast_attracts_nobody() {
    let mut fleet = Fleet::of(3, Strategy::LeastRequest, opens_after(u16::MAX));
    let mut now = START;
    let (mut first, calls) = (0u32, 10_000u32);
    // Two callers at a time, and the good ones are always busy.
    fleet.members[1].in_flight = 1;
    fleet.members[2].in_flight = 1;
    for _ in 0..calls {
        let quick = |target| ended(if target == 0 { Outcome::unavailable() } else { SUCCESS });
        let target = fleet.attempt(now, quick).unwrap();
        first += u32::from(target == 0);
        now = now + if target == 0 { Micros::from_micros(100) } else { ms(50) };
    }
    assert!(first * 10 < calls, "{first} of {calls}");
}

/// A fleet of five in which the first fails whenever it is asked.
fn ejected_five_times() -> (Fleet, OutlierSweep, Vec<u64>) {
    let rule = FailurePercentage::new(50, 5, 10).unwrap();
    let ejection = EjectionPolicy::DEFAULT
        .without_success_rate()
        .with_failure_percentage(rule)
        .with_times(millis(30_000), millis(300_000))
        .unwrap();
    let mut fleet = Fleet::of(5, Strategy::RoundRobin, opens_after(u16::MAX));
    fleet.outliers = OutlierPolicy::OFF.with_ejection(ejection);
    let mut sweep = OutlierSweep::starting(START, &ejection);
    let mut spans = Vec::new();
    while spans.len() < 5 {
        let now = sweep.due();
        assert!(now < START + ms(3_600_000), "{spans:?} and no more in an hour");
        let failing = fleet.members[0].outlier.until() <= now;
        for (number, member) in fleet.members.iter_mut().enumerate() {
            let bad = number == 0;
            member.outlier.add(if bad { 0 } else { 20 }, if bad && failing { 20 } else { 0 });
        }
        fleet.changes.clear();
        fleet.sweep(now, &mut sweep);
        if fleet.changes == [(0, evenkeel_core::OutlierChange::Ejected)] {
            spans.push(fleet.members[0].outlier.until().since(now).as_micros() / 1_000_000);
        }
    }
    (fleet, sweep, spans)
}

#[test]
fn f129_an_ejection_long_ago_is_forgiven() {
    let (mut fleet, mut sweep, _) = ejected_five_times();
    let quiet = |fleet: &mut Fleet, sweep: &mut OutlierSweep| {
        fleet.members.iter_mut().for_each(|member| member.outlier.add(20, 0));
        fleet.sweep(sweep.due(), sweep);
    };
    // Out for 150 s, and then ten good intervals.
    (0..15 + 10).for_each(|_| quiet(&mut fleet, &mut sweep));
    let now = sweep.due();
    fleet.members.iter_mut().for_each(|member| member.outlier.add(20, 0));
    fleet.members[0].outlier.add(0, 100);
    fleet.sweep(now, &mut sweep);
    assert_eq!(fleet.members[0].outlier.until().since(now), ms(30_000));
}

#[test]
fn f130_an_ejection_right_after_another_is_longer() {
    let (_, _, spans) = ejected_five_times();
    assert_eq!(spans, [30, 60, 90, 120, 150]);
}

#[test]
fn f131_with_few_targets_left_the_others_stay_out() {
    for up in 0..=4usize {
        let mut fleet = Fleet::of(4, Strategy::RoundRobin, opens_after(100));
        let verdicts: Vec<Option<bool>> = (0..4).map(|number| Some(number < up)).collect();
        fleet.health(&verdicts);
        let picks = fleet.picks(START, 8);
        if up == 0 {
            assert_eq!(picks, [Err(Refusal::NoTarget); 8], "at once, and never a hang");
        } else {
            assert!(picks.iter().all(|pick| usize::from(pick.unwrap()) < up));
        }
    }
}

#[test]
fn f132_one_odd_answer_flips_nothing() {
    let mut probed = Probed::new(every(1_000, 0).with_counts(2, 3).unwrap());
    let script = [OK, ERR, OK, ERR, ERR, OK, ERR, ERR, ERR, OK, OK];
    probed.ask(&script.map(|answer| (0, answer)));
    assert_eq!(probed.changed, [(0, true), (8_000, false), (10_000, true)]);
}
