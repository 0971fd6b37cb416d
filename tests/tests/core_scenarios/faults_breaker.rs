//! Incidents of what a breaker counts: F69 to F76, F81, F82 and F89.

use evenkeel_core::{BreakerState, Code, Transition};

use crate::circuit::Circuit;
use crate::driver::{Client, OK, at_once};
use crate::policies::{calls, code, opens_after};

#[test]
fn f69_callers_who_walk_away_do_not_open_a_healthy_circuit() {
    let mut circuit = Circuit::new(opens_after(5));
    let permits: Vec<_> = (0..50).map(|_| circuit.admit().unwrap()).collect();
    for permit in permits {
        assert_eq!(circuit.walk_away(permit), None);
    }
    assert!(circuit.breaker.is_clean());
    assert!(circuit.admit().is_ok());
}

#[test]
fn f70_a_cancelled_trial_neither_reopens_nor_closes() {
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    let trial = circuit.admit().unwrap();
    assert_eq!(circuit.walk_away(trial), None);
    assert_eq!(circuit.trials(), (0, BreakerState::HalfOpen));
    assert!(circuit.admit().is_ok(), "in the same instant");
}

#[test]
fn f73_our_own_refusals_are_no_failures_of_the_peers() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    client.call(&[at_once(code(Code::Internal))]);
    let opened = client.breaker().snapshot();
    for _ in 0..1_000 {
        let run = client.call(&[at_once(OK)]);
        assert_eq!((run.sent(), run.took.is_zero()), (0, true), "and are not retried");
    }
    assert_eq!(client.breaker().snapshot(), opened);
    client.pass(10_000);
    client.call(&[at_once(OK)]);
    assert_eq!(client.breaker().state(), BreakerState::Closed);
}

#[test]
fn f74_a_trial_that_ends_in_no_verdict_gives_its_slot_back() {
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    for _ in 0..5 {
        circuit.attempt(Code::InvalidArgument);
        assert_eq!(circuit.trials(), (0, BreakerState::HalfOpen));
    }
    assert_eq!(circuit.attempt(Code::Ok), Some(Transition::Closed));
}

#[test]
fn f76_failures_of_yesterday_are_forgotten() {
    let mut circuit = Circuit::new(opens_after(5));
    for _ in 0..4 {
        circuit.attempt(Code::Unavailable);
    }
    for _ in 0..1_000 {
        circuit.pass(86_400);
        circuit.attempt(Code::Ok);
    }
    assert_eq!(circuit.attempt(Code::Unavailable), None);
    assert_eq!(circuit.shown(), (BreakerState::Closed, 1));
}

#[test]
fn f82_a_failed_trial_is_not_forgotten() {
    let policy = opens_after(1).with_successes_to_close(3).unwrap();
    let after = |ends: &[Code]| {
        let mut circuit = Circuit::ready_for_trials(policy);
        for ended in ends {
            circuit.attempt(*ended);
        }
        circuit.breaker.state()
    };
    let (good, bad) = (Code::Ok, Code::Unavailable);
    assert_eq!(after(&[bad]), BreakerState::Open);
    assert_eq!(after(&[good, good, bad]), BreakerState::Open);
    assert_eq!(after(&[good, good]), BreakerState::HalfOpen);
    assert_eq!(after(&[good, good, good]), BreakerState::Closed);
}

/// The successes of one period do not count in the next.
#[test]
fn f82_every_period_begins_at_zero() {
    let mut circuit = Circuit::ready_for_trials(opens_after(1).with_successes_to_close(3).unwrap());
    circuit.attempt(Code::Ok);
    circuit.attempt(Code::Ok);
    circuit.attempt(Code::Unavailable);
    circuit.pass(10_000);
    assert_ne!(circuit.attempt(Code::Ok), Some(Transition::Closed));
    circuit.attempt(Code::Ok);
    assert_eq!(circuit.attempt(Code::Ok), Some(Transition::Closed));
}

#[test]
fn f89_every_slot_comes_back_from_an_end_that_says_nothing() {
    let policy = opens_after(1).with_max_trials(2).unwrap().with_successes_to_close(2).unwrap();
    let mut circuit = Circuit::ready_for_trials(policy);
    for ended in [Code::InvalidArgument, Code::InvalidArgument, Code::Ok] {
        circuit.attempt(ended);
    }
    assert_eq!(circuit.attempt(Code::Ok), Some(Transition::Closed));
}
