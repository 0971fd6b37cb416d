//! Which target an attempt goes to: P1 to P14, and the core's half of G76.

use evenkeel_core::{
    Call, Code, Deadline, Instant, Members as _, Outcome, OutlierChange, Refusal, Report, Standing,
    StopReason, Strategy, Weight, check_weights,
};

use crate::driver::{OK, U, at_once, drive};
use crate::fleet::Fleet;
use crate::policies::{calls, code, ms, opens_after};

const START: Instant = Instant::from_micros(7_000_000);

fn round_robin(members: usize) -> Fleet {
    Fleet::of(members, Strategy::default(), opens_after(100))
}

fn ended(outcome: Outcome) -> Report {
    Report { outcome, took: ms(1), weight: Weight::Counts }
}

#[test]
fn p01_the_default_takes_turns() {
    assert_eq!(round_robin(2).picks(START, 3), [Ok(0), Ok(1), Ok(0)]);
}

#[test]
fn p02_all_the_weight_is_all_the_load() {
    let mut fleet = Fleet::of(2, Strategy::Weighted, opens_after(100));
    (fleet.members[0].weight, fleet.members[1].weight) = (100, 0);
    assert_eq!(fleet.picks(START, 100), [Ok(0); 100]);
}

#[test]
fn p03_weights_that_choose_nobody_are_refused() {
    for refused in [&[][..], &[0], &[0, 0, 0]] {
        assert_eq!(check_weights(refused).unwrap_err().field(), "balancing.weights");
    }
    assert_eq!(check_weights(&[0, 1]), Ok(()));
}

#[test]
fn p04_an_unhealthy_target_is_passed_over() {
    let mut fleet = round_robin(2);
    fleet.health(&[Some(false), Some(true)]);
    assert_eq!(fleet.picks(START, 2), [Ok(1), Ok(1)]);
}

#[test]
fn p05_with_nobody_healthy_there_is_no_target() {
    for strategy in
        [Strategy::LeastRequest, Strategy::Random, Strategy::RoundRobin, Strategy::Weighted]
    {
        let mut fleet = Fleet::of(2, strategy, opens_after(100));
        fleet.health(&[Some(false), Some(false)]);
        assert_eq!(fleet.pick(START), Err(Refusal::NoTarget), "{strategy:?}");
        let run = drive(&mut START.clone(), &mut fleet, Call::new(Deadline::NONE, 1), &[]);
        assert_eq!(run.end(), (StopReason::NoTarget, 0, 0));
        assert_eq!(Fleet::of(0, strategy, opens_after(1)).pick(START), Err(Refusal::NoTarget));
    }
}

#[test]
fn p06_no_verdict_is_no_good_verdict() {
    let mut fleet = round_robin(2);
    fleet.health(&[None, Some(true)]);
    assert_eq!(fleet.picks(START, 2), [Ok(1), Ok(1)]);
    fleet.health(&[None, None]);
    assert_eq!(fleet.pick(START), Err(Refusal::NoTarget));
}

#[test]
fn p07_a_weight_leaves_the_draw_with_its_target() {
    let mut fleet = Fleet::of(3, Strategy::Weighted, opens_after(100));
    fleet.members[0].weight = 1_000_000;
    fleet.members[2].weight = 3_000;
    fleet.health(&[Some(false), Some(true), Some(true)]);
    let picks = fleet.picks(START, 4_000);
    let second = picks.iter().filter(|pick| **pick == Ok(1)).count();
    assert!((850..1_150).contains(&second), "a quarter of 4,000: {second}");
    assert!(!picks.contains(&Ok(0)));
    // One of weight 0 is better than nobody.
    fleet.members[1].weight = 0;
    fleet.health(&[Some(false), Some(true), Some(false)]);
    assert_eq!(fleet.pick(START), Ok(1));
}

#[test]
fn p08_a_target_that_recovers_has_its_old_place() {
    let mut fleet = round_robin(3);
    fleet.health(&[Some(true), Some(false), Some(true)]);
    assert_eq!(fleet.picks(START, 4), [Ok(0), Ok(2), Ok(0), Ok(2)]);
    fleet.health(&[Some(true); 3]);
    assert_eq!(fleet.picks(START, 4), [Ok(0), Ok(1), Ok(2), Ok(0)]);
}

#[test]
fn p09_a_failure_costs_five_seconds() {
    let mut fleet = round_robin(3);
    let second = |target| ended(if target == 1 { U } else { OK });
    for expected in [0, 1, 2] {
        assert_eq!(fleet.attempt(START, second), Ok(expected));
    }
    assert_eq!(fleet.picks(START, 4), [Ok(0), Ok(2), Ok(0), Ok(2)]);
    assert_eq!(fleet.picks(START + ms(4_999), 2), [Ok(0), Ok(2)]);
    // Over from its end on.
    assert_eq!(fleet.picks(START + ms(5_000), 4), [Ok(0), Ok(1), Ok(2), Ok(0)]);
    assert_eq!(fleet.changes, [(1, OutlierChange::Quarantined)]);
}

#[test]
fn p11_a_dead_one_of_two_costs_two_attempts_at_most() {
    let mut fleet = round_robin(2);
    let dead = |target| ended(if target == 0 { Outcome::not_connected() } else { OK });
    let targets: Vec<u16> = (0..20).map(|_| fleet.attempt(START, dead).unwrap()).collect();
    assert!(targets.iter().filter(|target| **target == 0).count() <= 2);
}

#[test]
fn p13_a_retry_goes_to_a_target_that_was_not_tried() {
    for strategy in
        [Strategy::LeastRequest, Strategy::Random, Strategy::RoundRobin, Strategy::Weighted]
    {
        let mut fleet = Fleet::of(3, strategy, opens_after(100));
        fleet.policy = calls(3, 10);
        // A code that quarantines nobody: it is the call that remembers.
        let busy = code(Code::ResourceExhausted);
        let mut now = START;
        let call = Call::new(Deadline::NONE, 7);
        let run = drive(&mut now, &mut fleet, call, &[at_once(busy)]);
        let mut targets: Vec<u16> = run.attempts.iter().map(|seen| seen.target).collect();
        targets.sort_unstable();
        assert_eq!(targets, [0, 1, 2], "{strategy:?}");
    }
}

#[test]
fn p14_a_refusal_of_the_breaker_quarantines_nobody() {
    let mut fleet = Fleet::of(2, Strategy::RoundRobin, opens_after(1));
    let internal = |_| ended(code(Code::Internal));
    assert_eq!([fleet.attempt(START, internal), fleet.attempt(START, internal)], [Ok(0), Ok(1)]);
    let retry_at = START + ms(10_000);
    assert_eq!(fleet.picks(START, 9), [Err(Refusal::CircuitOpen { retry_at }); 9]);
    assert_eq!(fleet.changes, []);
}

#[test]
fn g76_an_open_circuit_is_avoided_and_leaves_the_others_even() {
    let mut fleet = Fleet::of(3, Strategy::RoundRobin, opens_after(2));
    let second = |target| ended(code(if target == 1 { Code::Internal } else { Code::Ok }));
    let targets: Vec<u16> = (0..14).map(|_| fleet.attempt(START, second).unwrap()).collect();
    // Twice, and then the other two share its load.
    assert_eq!(targets, [0, 1, 2, 0, 1, 2, 0, 2, 0, 2, 0, 2, 0, 2]);
}

#[test]
fn the_least_busy_of_two_is_taken() {
    let mut fleet = Fleet::of(2, Strategy::LeastRequest, opens_after(100));
    fleet.members[0].in_flight = 3;
    assert_eq!(fleet.picks(START, 50), [Ok(1); 50]);
    fleet.members[1].in_flight = 4;
    assert_eq!(fleet.picks(START, 50), [Ok(0); 50]);
}

/// A slice shorter than the method is normally given says nothing about the target.
#[test]
fn a_short_slice_quarantines_nobody() {
    let mut fleet = round_robin(2);
    let short = Report { weight: Weight::CutShort, ..ended(code(Code::DeadlineExceeded)) };
    assert_eq!(fleet.attempt(START, |_| short), Ok(0));
    assert_eq!(fleet.picks(START, 2), [Ok(1), Ok(0)]);
    assert_eq!(fleet.attempt(START, |_| ended(code(Code::DeadlineExceeded))), Ok(1));
    assert_eq!(fleet.picks(START, 2), [Ok(0), Ok(0)]);
}

#[test]
fn suspects_are_better_than_nobody_and_worse_than_anybody() {
    let mut fleet = round_robin(3);
    for _ in 0..3 {
        fleet.attempt(START, |_| ended(U)).unwrap();
    }
    assert_eq!(fleet.picks(START, 3), [Ok(0), Ok(1), Ok(2)], "all of them are out: none is");
    fleet.health(&[Some(true), Some(false), Some(true)]);
    assert_eq!(fleet.picks(START, 3), [Ok(0), Ok(2), Ok(0)], "but not one that is down");
    let members: &[Standing] = &[Standing::Up; 2];
    assert_eq!(members.count(), 2);
}

/// Quarantine is a reason to prefer others. Where their circuits are open it is no reason to refuse.
#[test]
fn a_doubted_target_is_asked_when_the_circuits_of_all_others_are_open() {
    let mut fleet = Fleet::of(2, Strategy::RoundRobin, opens_after(2));
    let ends = |dead: bool| ended(if dead { U } else { OK });
    // The first is dead, and its circuit opens; its quarantine is over long before.
    let mut now = START;
    while !fleet.members[0].breaker.is_protecting() {
        fleet.attempt(now, |target| ends(target == 0)).unwrap();
        now = now + ms(6_000);
    }
    assert_eq!(fleet.attempt(now, |_| ended(U)), Ok(1), "the other fails once");
    assert_eq!(fleet.picks(now, 3), [Ok(1); 3]);
    fleet.attempt(now, |_| ended(U)).unwrap();
    assert!(matches!(fleet.pick(now), Err(Refusal::CircuitOpen { .. })));
}
