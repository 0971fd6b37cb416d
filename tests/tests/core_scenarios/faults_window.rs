//! Incidents of failure shares: F77 to F81. What happened is in `docs/incidents.md`.

use evenkeel_core::{
    AnyOf, Bad, BreakerPolicy, BreakerState, Code, LastN, Micros, Outcome, Report, TimeWindow,
    Transition, Trip, Verdict, Weight,
};

use crate::circuit::Circuit;
use crate::policies::{millis, ms};

fn circuit<T: Trip>(rule: T) -> Circuit<T> {
    Circuit::new(BreakerPolicy::new(rule))
}

/// Half of the last ten calls or of the last ten seconds, judged from ten calls on.
fn last_ten() -> LastN {
    LastN::new(10, 10, 50).unwrap()
}

fn ten_seconds(min_calls: u32) -> TimeWindow {
    TimeWindow::new(millis(10_000), min_calls, 50).unwrap()
}

fn times<T: Trip>(circuit: &mut Circuit<T>, n: usize, ended: Code) {
    for _ in 0..n {
        circuit.attempt(ended);
    }
}

#[test]
fn f77_the_window_slides_and_does_not_start_anew() {
    let mut circuit = circuit(ten_seconds(20));
    // A window that is thrown away every 10 s would see 90 % of the eleventh second fail.
    for second in 0..11 {
        for call in 0..1_000 {
            let ended = if second == 10 && call % 10 != 0 { Code::Internal } else { Code::Ok };
            circuit.attempt(ended);
            circuit.pass(1);
        }
    }
    assert_eq!(circuit.shown(), (BreakerState::Closed, 900));
}

#[test]
fn f77_what_left_the_window_is_forgotten() {
    let mut circuit = circuit(ten_seconds(2));
    times(&mut circuit, 1, Code::Internal);
    circuit.pass(11_000);
    assert_eq!(circuit.attempt(Code::Internal), None);
    assert_eq!(circuit.attempt(Code::Internal), Some(Transition::Opened));
}

#[test]
fn f78_too_few_calls_are_not_judged() {
    fn closed_nine_times<T: Trip>(mut circuit: Circuit<T>) {
        assert_eq!(circuit.shown(), (BreakerState::Closed, 0), "nothing counted is no share");
        for failures in 1..10 {
            assert_eq!(circuit.attempt(Code::Internal), None, "{failures} failures");
        }
        assert_eq!(circuit.attempt(Code::Internal), Some(Transition::Opened));
    }
    closed_nine_times(circuit(last_ten()));
    closed_nine_times(circuit(ten_seconds(10)));
}

#[test]
fn f79_a_success_never_opens_and_the_next_failure_does() {
    fn at_the_next_failure<T: Trip>(mut circuit: Circuit<T>) {
        times(&mut circuit, 9, Code::Internal);
        assert_eq!(circuit.attempt(Code::Ok), None);
        assert_eq!(circuit.breaker.state(), BreakerState::Closed);
        assert_eq!(circuit.attempt(Code::Internal), Some(Transition::Opened));
    }
    at_the_next_failure(circuit(last_ten()));
    at_the_next_failure(circuit(ten_seconds(10)));

    fn at_exactly_half<T: Trip>(mut circuit: Circuit<T>) {
        times(&mut circuit, 5, Code::Ok);
        times(&mut circuit, 4, Code::Internal);
        assert_eq!(circuit.attempt(Code::Internal), Some(Transition::Opened));
    }
    at_exactly_half(circuit(last_ten()));
    at_exactly_half(circuit(ten_seconds(10)));
}

/// A trial is judged by itself: the minimum of the closed state does not apply.
#[test]
fn f80_a_minimum_above_the_trials_does_not_keep_it_half_open() {
    let rule: LastN = LastN::new(100, 100, 50).unwrap();
    let policy = BreakerPolicy::new(rule).with_max_trials(10).unwrap();
    let mut circuit = Circuit::new(policy.with_successes_to_close(10).unwrap());
    times(&mut circuit, 100, Code::Internal);
    circuit.now = circuit.breaker.snapshot().retry_at.unwrap();
    for _ in 0..9 {
        assert_ne!(circuit.attempt(Code::Ok), Some(Transition::Closed));
    }
    assert_eq!(circuit.attempt(Code::Ok), Some(Transition::Closed));
}

#[test]
fn f81_a_failed_trial_reopens_whatever_the_share_was() {
    let mut circuit = circuit(ten_seconds(10));
    times(&mut circuit, 10, Code::Internal);
    circuit.now = circuit.breaker.snapshot().retry_at.unwrap();
    let trial = circuit.admit().unwrap();
    assert!(circuit.admit().is_err(), "one trial was sent");
    assert_eq!(circuit.end(trial, Code::Internal), Some(Transition::Opened));
    let shown = circuit.breaker.snapshot();
    assert_eq!((shown.opened_at, shown.reopenings), (Some(circuit.now), 1));
}

/// Calls that succeed, but too late to be of use, open a circuit that looks at them.
#[test]
fn slow_calls_are_a_share_of_their_own() {
    type Either = AnyOf<LastN, LastN>;
    let either = AnyOf { first: last_ten(), second: last_ten().counting(Bad::SlowCalls) };
    let policy = BreakerPolicy::<Either>::new(either).with_slow_after(millis(100)).unwrap();
    let took = |took: Micros| {
        policy.verdict(&Report { outcome: Outcome::success(), took, weight: Weight::Counts })
    };
    assert_eq!((took(ms(100)), took(ms(101))), (Verdict::Success, Verdict::SlowSuccess));

    let mut circuit = Circuit::new(policy);
    for call in 0..10 {
        let permit = circuit.admit().unwrap();
        let verdict = took(ms(if call < 5 { 5 } else { 500 }));
        let changed = circuit.breaker.record(circuit.now, permit, verdict, &policy);
        assert_eq!(changed, (call == 9).then_some(Transition::Opened));
    }
    // And a slow trial closes nothing.
    circuit.now = circuit.breaker.snapshot().retry_at.unwrap();
    let trial = circuit.admit().unwrap();
    let changed = circuit.breaker.record(circuit.now, trial, took(ms(500)), &policy);
    assert_eq!(changed, Some(Transition::Opened));
}
