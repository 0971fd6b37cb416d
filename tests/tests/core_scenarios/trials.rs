//! Half-open: how many trials go out, and what they decide. C14 to C22 and G74.

use evenkeel_core::{BreakerState, Code, Transition};

use crate::circuit::Circuit;
use crate::policies::{millis, opens_after};

#[test]
fn c14_one_success_after_the_open_time_closes() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2));
    assert_eq!(circuit.attempt(Code::Ok), Some(Transition::Closed));
    assert_eq!(circuit.trials(), (0, BreakerState::Closed));
}

#[test]
fn c15_one_failed_trial_reopens_whatever_the_threshold() {
    let mut circuit = Circuit::ready_for_trials(opens_after(100));
    assert_eq!(circuit.attempt(Code::Internal), Some(Transition::Opened));
    assert!(circuit.admit().is_err());
}

#[test]
fn c16_while_a_trial_is_under_way_the_next_is_refused() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2));
    let trial = circuit.admit().unwrap();
    assert!(circuit.admit().is_err());
    assert_eq!(circuit.end(trial, Code::Ok), Some(Transition::Closed));
    assert!(circuit.admit().is_ok());
}

/// A stream is an attempt that ends with its last item.
#[test]
fn c13_c17_and_g74_a_long_trial_holds_its_slot_to_the_end() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2));
    let stream = circuit.admit_for(60_000).unwrap();
    circuit.pass(59_000);
    assert_eq!(circuit.trials(), (1, BreakerState::HalfOpen));
    assert!(circuit.admit().is_err());
    circuit.end(stream, Code::Ok);
    assert_eq!(circuit.trials(), (0, BreakerState::Closed));
}

#[test]
fn c18_a_trial_that_breaks_halfway_reopens() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2));
    let stream = circuit.admit_for(60_000).unwrap();
    circuit.pass(30_000);
    assert_eq!(circuit.end(stream, Code::Unavailable), Some(Transition::Opened));
    assert_eq!(circuit.trials(), (0, BreakerState::Open));
}

#[test]
fn c19_a_cancelled_trial_gives_its_slot_back_and_says_nothing() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2));
    let trial = circuit.admit().unwrap();
    assert_eq!(circuit.walk_away(trial), None);
    assert_eq!(circuit.trials(), (0, BreakerState::HalfOpen));
    assert_eq!(circuit.attempt(Code::Ok), Some(Transition::Closed));
}

#[test]
fn c22_no_open_time_admits_a_trial_in_the_same_instant() {
    let mut circuit = Circuit::new(opens_after(1).with_open_for(millis(0)).unwrap());
    assert_eq!(circuit.attempt(Code::Unavailable), Some(Transition::Opened));
    let trial = circuit.admit().unwrap();
    assert_eq!(trial.transition(), Some(Transition::HalfOpened));
    assert!(circuit.admit().is_err(), "and only one");
    assert_eq!(circuit.end(trial, Code::Ok), Some(Transition::Closed));
}

#[test]
fn as_many_trials_as_allowed_and_as_many_successes_as_asked_for() {
    let policy = opens_after(2).with_max_trials(3).unwrap().with_successes_to_close(2).unwrap();
    let mut circuit = Circuit::ready_for_trials(policy);
    let trials: Vec<_> = (0..3).map(|_| circuit.admit().unwrap()).collect();
    assert!(circuit.admit().is_err());
    let changed: Vec<_> = trials.into_iter().map(|trial| circuit.end(trial, Code::Ok)).collect();
    assert_eq!(changed, [None, Some(Transition::Closed), None]);
}

/// One lease for all trials of a period, the latest that was granted.
#[test]
fn a_short_trial_does_not_end_the_lease_of_a_long_one() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2).with_max_trials(2).unwrap());
    let long = circuit.admit_for(60_000).unwrap();
    let _short = circuit.admit_for(100).unwrap();
    circuit.pass(59_999);
    assert!(circuit.admit().is_err(), "both are still waited for");
    assert_eq!(circuit.end(long, Code::Ok), Some(Transition::Closed));
}

#[test]
fn open_times_grow_with_every_reopening_up_to_their_end() {
    let policy = opens_after(1).with_growth(2_000, millis(60_000)).unwrap();
    let mut circuit = Circuit::ready_for_trials(policy);
    let mut open_times = Vec::new();
    for _ in 0..5 {
        circuit.attempt(Code::Unavailable);
        let shown = circuit.breaker.snapshot();
        let (opened_at, retry_at) = (shown.opened_at.unwrap(), shown.retry_at.unwrap());
        open_times.push(retry_at.since(opened_at).as_micros() / 1_000_000);
        circuit.now = retry_at;
    }
    assert_eq!(open_times, [20, 40, 60, 60, 60]);
    // Once it has closed, the next outage starts from the beginning.
    circuit.attempt(Code::Ok);
    circuit.attempt(Code::Unavailable);
    let shown = circuit.breaker.snapshot();
    assert_eq!(shown.retry_at.unwrap().since(shown.opened_at.unwrap()).as_micros(), 10_000_000);
}
