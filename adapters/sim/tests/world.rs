//! What happens in a simulated world is what its description says.

use evenkeel_core::Micros;
use evenkeel_sim::presets::{PRESETS, named};
use evenkeel_sim::{
    Arrivals, FaultKind, IMMEDIATELY, Law, Order, Policy, Run, Scenario, Second, Summary,
    recovery_time, run, run_telling,
};

fn short(kind: FaultKind) -> Scenario {
    let mut scenario = Scenario::outage(kind);
    scenario.fleet.arrivals = Arrivals::Open { per_second: 140.0 };
    scenario.fleet.clients = 20;
    scenario.server.workers = 2;
    scenario.fault.start = Micros::from_millis(5_000);
    scenario.fault.length = Micros::from_millis(5_000);
    scenario.end = Micros::from_millis(30_000);
    scenario
}

fn preset(name: &str) -> Policy {
    named(name).unwrap().policy()
}

fn go(scenario: &Scenario, policy: &Policy) -> Run {
    run(scenario, policy, 3).unwrap()
}

fn all(record: &Run, count: impl Fn(&Second) -> u32) -> u64 {
    record.sum(0, usize::MAX, count)
}

#[test]
fn every_call_is_booked_once() {
    for preset in PRESETS {
        for kind in [FaultKind::Stall, FaultKind::FailFast, FaultKind::BlackHole] {
            let record = go(&short(kind), &preset.policy());
            let ended = all(&record, |second| second.goodput + second.failed);
            let unfinished = all(&record, |second| second.unfinished);
            assert_eq!(ended + unfinished, all(&record, |second| second.calls), "{}", preset.name);
            let good = all(&record, |second| second.good);
            assert_eq!(good, all(&record, |second| second.goodput), "{}", preset.name);
        }
    }
}

#[test]
fn attempts_stay_below_the_policy_s_limit() {
    for kind in [FaultKind::Stall, FaultKind::FailFast, FaultKind::Partial { share: 1.0 }] {
        let record = go(&short(kind), &preset("naive"));
        let (attempts, calls) =
            (all(&record, |second| second.attempts), all(&record, |second| second.calls));
        assert!(attempts > calls && attempts <= 4 * calls);
    }
}

#[test]
fn a_black_hole_executes_nothing_and_a_refusal_answers_at_once() {
    let record = go(&short(FaultKind::BlackHole), &Policy::NO_RETRY);
    assert_eq!(record.sum(6, 10, |second| second.executed), 0);
    assert_eq!(record.sum(6, 10, |second| second.refused), 0);
    let record = go(&short(FaultKind::FailFast), &Policy::NO_RETRY);
    let refused = record.sum(6, 9, |second| second.refused);
    assert_eq!(refused, record.sum(6, 9, |second| second.calls));
}

#[test]
fn a_brownout_leaves_its_share_of_the_capacity() {
    let mut scenario = short(FaultKind::Brownout { capacity: 0.25 });
    scenario.server.law = Law::Constant;
    let record = go(&scenario, &Policy::NO_RETRY);
    let executed = record.sum(6, 10, |second| second.executed);
    assert!((195..=205).contains(&executed), "{executed} of 4 s × 50/s");
}

#[test]
fn a_restart_loses_what_it_held_and_then_greets_each_client() {
    let setup = Micros::from_millis(100);
    let record = go(&short(FaultKind::Restart { setup }), &preset("naive"));
    let calm = go(&short(FaultKind::FailFast), &preset("naive"));
    let slow = |record: &Run| record.seconds[10..15].iter().map(|second| second.delay).max();
    // Twenty greetings of 100 ms for two workers make a queue that a refusal does not.
    assert!(slow(&record) > slow(&calm).map(|delay| delay + 100_000));
}

#[test]
fn partial_failure_fails_its_share() {
    let mut scenario = short(FaultKind::Partial { share: 0.3 });
    scenario.fault.start = Micros::ZERO;
    scenario.fault.length = scenario.end;
    let record = go(&scenario, &Policy::NO_RETRY);
    let (good, calls) = (all(&record, |second| second.good), all(&record, |second| second.calls));
    let share = good as f64 / calls as f64;
    assert!((share - 0.7).abs() < 0.03, "{share}");
}

#[test]
fn closed_clients_have_one_call_at_a_time() {
    let mut scenario = short(FaultKind::Stall);
    scenario.fleet.arrivals = Arrivals::Closed { think: Micros::from_millis(10) };
    let record = go(&scenario, &Policy::NO_RETRY);
    assert!(record.seconds.iter().all(|second| second.queue <= 20 * 6));
    // While nothing is answered, each client waits out its timeout: about one call a second.
    assert!(record.sum(7, 10, |second| second.calls) <= 3 * 21);
}

#[test]
fn clients_that_think_no_time_still_let_the_clock_move() {
    let mut scenario = short(FaultKind::FailFast);
    scenario.fleet.arrivals = Arrivals::Closed { think: Micros::ZERO };
    scenario.fault.length = Micros::from_millis(100);
    scenario.end = Micros::from_millis(5_200);
    let record = go(&scenario, &Policy::NO_RETRY);
    assert_eq!(record.seconds.len(), 6);
}

#[test]
fn layers_multiply() {
    let mut scenario = short(FaultKind::FailFast);
    scenario.fleet.layers = 2;
    scenario.end = Micros::from_millis(10_000);
    let at_once = Policy::retrying(4, IMMEDIATELY).unwrap();
    let summary = Summary::of(&go(&scenario, &at_once), &scenario);
    assert!((summary.amplification - 16.0).abs() < 0.1, "{}", summary.amplification);
}

#[test]
fn the_network_delays_both_ways() {
    let mut scenario = short(FaultKind::None);
    scenario.server.network = Micros::from_millis(600);
    scenario.end = Micros::from_millis(6_000);
    // 1.2 s of network and a timeout of one: everything is executed, for nobody.
    let record = go(&scenario, &Policy::NO_RETRY);
    assert_eq!(all(&record, |second| second.good), 0);
    let executed = all(&record, |second| second.executed);
    assert!(executed > 500);
    scenario.server.network = Micros::from_millis(400);
    let record = go(&scenario, &Policy::NO_RETRY);
    assert!(all(&record, |second| second.good) > 500);
}

#[test]
fn a_full_queue_rejects_and_an_expired_request_is_dropped() {
    let mut scenario = short(FaultKind::Stall);
    scenario.server.queue_limit = Some(50);
    let record = go(&scenario, &Policy::NO_RETRY);
    assert!(record.seconds.iter().all(|second| second.queue <= 50));
    assert!(all(&record, |second| second.refused) > 300);
    scenario.server.queue_limit = None;
    scenario.server.order = Order::DropExpired { reserve: Micros::from_millis(50) };
    let record = go(&scenario, &Policy::NO_RETRY);
    assert_eq!(Summary::of(&record, &scenario).recovery, Some(0));
    // What had expired when its turn came was not begun.
    assert!(all(&record, |second| second.wasted) < 20);
}

#[test]
fn a_run_that_is_too_long_is_cut_and_says_so() {
    let mut scenario = short(FaultKind::Stall);
    scenario.max_events = 1_000;
    let record = go(&scenario, &preset("naive"));
    assert_eq!((record.events, record.cut_short), (1_000, true));
    // Seconds that nobody has seen are not there, and so they are not good.
    assert!(record.seconds.len() < 5, "{}", record.seconds.len());
    let summary = Summary::of(&record, &scenario);
    assert_eq!((summary.recovery, summary.cut_short), (None, true));
}

#[test]
fn whoever_waits_is_told_of_each_second() {
    let scenario = short(FaultKind::Stall);
    let mut told = 0;
    let record = run_telling(&scenario, &preset("naive"), 3, || told += 1).unwrap();
    assert_eq!((told, record), (29, run(&scenario, &preset("naive"), 3).unwrap()));
}

#[test]
fn stopping_at_recovery_answers_the_same() {
    let mut scenario = short(FaultKind::Stall);
    scenario.end = Micros::from_millis(60_000);
    for name in ["no-retry", "steady", "kit", "naive"] {
        let record = go(&scenario, &preset(name));
        let whole = Summary::of(&record, &scenario).recovery;
        assert_eq!(recovery_time(&scenario, &preset(name), 3).unwrap(), whole, "{name}");
    }
}
