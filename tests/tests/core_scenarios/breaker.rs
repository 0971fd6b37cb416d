//! When a breaker opens, and what it refuses: C1 to C11, C31 to C35, G71 and G72.

use core::time::Duration;

use evenkeel_core::{BreakerPolicy, BreakerState, Code, Consecutive, Instant, Transition, checked};

use crate::circuit::Circuit;
use crate::driver::{Client, OK, U, at_once};
use crate::policies::{calls, code, millis, ms, opens_after};

/// The codes that speak against a peer's health.
const COUNTED: [Code; 7] = [
    Code::Unavailable,
    Code::DeadlineExceeded,
    Code::Internal,
    Code::ResourceExhausted,
    Code::Aborted,
    Code::Unknown,
    Code::DataLoss,
];

fn fail(circuit: &mut Circuit, times: usize) {
    for _ in 0..times {
        circuit.attempt(Code::Unavailable);
    }
}

#[test]
fn c1_the_second_failure_opens_and_the_third_call_is_refused() {
    let mut client = Client::new(calls(1, 100)).with_breaker(opens_after(2));
    client.call(&[at_once(U)]);
    let shown = client.breaker().snapshot();
    assert_eq!((shown.state, shown.failures), (BreakerState::Closed, 1));
    client.call(&[at_once(U)]);
    let shown = client.breaker().snapshot();
    assert_eq!((shown.state, shown.failures), (BreakerState::Open, 2));

    let refused = client.call(&[at_once(OK)]);
    assert_eq!(refused.sent(), 0);
    assert_eq!(
        refused.reason.to_string(),
        "the circuit breaker is open, next try at 17.00s on its clock"
    );
}

#[test]
fn c2_a_success_starts_the_count_over() {
    let mut circuit = Circuit::new(opens_after(5));
    fail(&mut circuit, 3);
    circuit.attempt(Code::Ok);
    assert_eq!(circuit.shown(), (BreakerState::Closed, 0));
}

#[test]
fn c3_failures_must_come_in_a_row() {
    let mut circuit = Circuit::new(opens_after(2));
    for ended in [Code::Unavailable, Code::Ok, Code::Unavailable] {
        circuit.attempt(ended);
    }
    assert_eq!(circuit.shown(), (BreakerState::Closed, 1));
}

#[test]
fn c5_an_answer_a_healthy_peer_gives_never_counts() {
    let mut circuit = Circuit::new(opens_after(2));
    for _ in 0..1_000 {
        circuit.attempt(Code::NotFound);
    }
    assert_eq!(circuit.shown(), (BreakerState::Closed, 0));
}

#[test]
fn c6_and_g72_seven_codes_count_and_no_others() {
    for ended in Code::ALL {
        let mut circuit = Circuit::new(opens_after(1));
        let changed = circuit.attempt(ended);
        let expected = COUNTED.contains(&ended).then_some(Transition::Opened);
        assert_eq!(changed, expected, "{ended}");
    }
}

/// An adapter calls what is no status `UNKNOWN`.
#[test]
fn c7_an_error_without_a_code_counts() {
    let mut circuit = Circuit::new(opens_after(1));
    assert_eq!(circuit.attempt(Code::Unknown), Some(Transition::Opened));
}

#[test]
fn c8_and_c9_a_caller_who_walks_away_counts_as_nothing() {
    let mut circuit = Circuit::new(opens_after(2));
    fail(&mut circuit, 1);
    let permit = circuit.admit().unwrap();
    assert_eq!(circuit.walk_away(permit), None);
    assert_eq!(circuit.shown(), (BreakerState::Closed, 1), "it neither counts nor resets");
    // Whatever the settings say of the code.
    let eager = opens_after(1).with_failures(evenkeel_core::CodeSet::of(&Code::ALL));
    let mut circuit = Circuit::new(eager);
    assert_eq!(circuit.attempt(Code::Cancelled), None);
    assert_eq!(circuit.attempt(Code::Ok), None);
}

#[test]
fn c31_the_order_of_states_over_an_outage() {
    let mut circuit = Circuit::new(opens_after(2));
    let mut seen = vec![circuit.breaker.state()];
    let mut watch = |changed: Option<Transition>| seen.extend(changed.map(Transition::state));
    watch(circuit.attempt(Code::Unavailable));
    watch(circuit.attempt(Code::Unavailable));
    circuit.pass(10_000);
    let trial = circuit.admit().unwrap();
    watch(trial.transition());
    watch(circuit.end(trial, Code::Ok));
    let names: Vec<&str> = seen.iter().map(|state| state.name()).collect();
    assert_eq!(names, ["closed", "open", "half-open", "closed"]);
}

#[test]
fn c32_every_refusal_is_told_once() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    client.call(&[at_once(code(Code::Internal))]);
    let retry_at = client.breaker().snapshot().retry_at.unwrap();
    let refusals = (0..4).filter(|_| {
        let run = client.call(&[at_once(OK)]);
        run.reason == evenkeel_core::StopReason::CircuitOpen { retry_at } && run.took.is_zero()
    });
    assert_eq!(refusals.count(), 4);
}

#[test]
fn c34_a_snapshot_shows_what_an_incident_asks_for() {
    let mut circuit = Circuit::new(opens_after(2));
    fail(&mut circuit, 2);
    let opened_at = circuit.now;
    let open = circuit.breaker.snapshot();
    assert_eq!((open.state, open.failures, open.reopenings), (BreakerState::Open, 2, 0));
    assert_eq!(open.opened_at, Some(opened_at));
    assert_eq!(open.retry_at, Some(opened_at + ms(10_000)));

    circuit.pass(10_000);
    let _trial = circuit.admit().unwrap();
    let half_open = circuit.breaker.snapshot();
    assert_eq!((half_open.state, half_open.trials), (BreakerState::HalfOpen, 1));
    assert_eq!((half_open.opened_at, half_open.retry_at), (Some(opened_at), None));
    assert_eq!(half_open.failures, 0);
}

#[test]
fn c35_settings_that_cannot_work_are_refused_by_name() {
    let policy = BreakerPolicy::DEFAULT;
    let errors = [
        Consecutive::new(0).unwrap_err(),
        policy.with_open_for(Duration::MAX).unwrap_err(),
        policy.with_max_trials(0).unwrap_err(),
        policy.with_successes_to_close(0).unwrap_err(),
        policy.with_growth(999, millis(1)).unwrap_err(),
        policy.with_open_jitter(1_001, 1).unwrap_err(),
    ];
    let named = [
        "breaker.fail_threshold",
        "breaker.recovery_timeout",
        "breaker.half_open_max_calls",
        "breaker.successes_to_close",
        "breaker.growth",
        "breaker.jitter",
    ];
    assert_eq!(errors.map(|error| error.field()), named);
}

#[test]
fn g71_five_in_a_row_and_not_four_twice() {
    const FIVE: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(5)));
    let mut circuit = Circuit::new(FIVE);
    fail(&mut circuit, 4);
    circuit.attempt(Code::Ok);
    fail(&mut circuit, 4);
    assert_eq!(circuit.shown(), (BreakerState::Closed, 4));
    fail(&mut circuit, 1);
    assert!(circuit.admit().is_err());
}

/// A refusal says from when on it makes sense to ask again, and means it.
#[test]
fn it_admits_again_from_exactly_that_instant() {
    let mut circuit = Circuit::new(opens_after(1));
    fail(&mut circuit, 1);
    let retry_at = circuit.admit().unwrap_err().retry_at;
    circuit.now = Instant::from_micros(retry_at.as_micros() - 1);
    assert!(circuit.admit().is_err());
    circuit.now = retry_at;
    assert!(circuit.admit().is_ok());
}
