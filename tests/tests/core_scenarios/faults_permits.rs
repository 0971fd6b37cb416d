//! Incidents of lost, late and counterfeit leave: F84 to F94.

use evenkeel_core::{
    Action, BreakerState, Call, Code, Deadline, Gate, Single, Transition, Verdict,
};

use crate::circuit::Circuit;
use crate::policies::{calls, code, millis, ms, opens_after};

#[test]
fn f84_a_trial_that_never_ends_loses_its_lease() {
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    let lost = circuit.admit().unwrap();
    let lease_end = circuit.admit().unwrap_err().retry_at;
    circuit.pass(9_999);
    assert!(circuit.admit().is_err(), "an attempt without a deadline is waited for");
    circuit.pass(1);
    assert_eq!(circuit.now, lease_end);
    let trial = circuit.admit().unwrap();
    assert!(circuit.admit().is_err(), "and one takes its place, not several");

    // What comes of the lost one much later is nobody's verdict any more.
    circuit.pass(5_000);
    assert_eq!(circuit.end(lost, Code::Unavailable), None);
    assert_eq!(circuit.trials(), (1, BreakerState::HalfOpen));
    assert_eq!(circuit.end(trial, Code::Ok), Some(Transition::Closed));
}

#[test]
fn f84_a_lease_ends_with_the_attempts_own_deadline() {
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    let _lost = circuit.admit_for(250).unwrap();
    circuit.pass(249);
    assert!(circuit.admit().is_err());
    circuit.pass(1);
    assert!(circuit.admit().is_ok());
}

/// A driver that still polls a trial without a deadline says that it is not lost.
#[test]
fn f84_a_trial_that_is_heard_of_keeps_its_lease() {
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    let stream = circuit.admit().unwrap();
    for _ in 0..5 {
        circuit.pass(9_000);
        circuit.breaker.renew(circuit.now, &stream, &circuit.policy);
    }
    assert!(circuit.admit().is_err());
    assert_eq!(circuit.end(stream, Code::Ok), Some(Transition::Closed));
}

/// And polling the call is all a driver has to do for it.
#[test]
fn f84_polling_an_endless_call_keeps_its_lease() {
    let policy = calls(1, 100).unbounded();
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    let mut call = Call::new(Deadline::NONE, 1);
    let mut poll = |circuit: &mut Circuit| {
        let (breaker, settings) = (&mut circuit.breaker, &circuit.policy);
        let mut upstream = Single::new(&policy).with_breaker(breaker, settings);
        call.poll(circuit.now, &mut upstream)
    };
    let Action::Attempt(_stream) = poll(&mut circuit) else { panic!("it had a slot") };
    for _ in 0..5 {
        circuit.pass(9_000);
        assert!(matches!(poll(&mut circuit), Action::WaitUntil(_)));
    }
    assert!(circuit.admit().is_err(), "it is heard of");
    circuit.pass(10_000);
    assert!(circuit.admit().is_ok(), "and then no more");
}

#[test]
fn f86_results_of_the_closed_period_do_not_judge_the_trial() {
    for trial_ends in [Code::Ok, Code::Internal] {
        let mut circuit = Circuit::new(opens_after(10));
        let mut under_way: Vec<_> = (0..50).map(|_| circuit.admit().unwrap()).collect();
        for permit in under_way.drain(..10) {
            circuit.end(permit, Code::Unavailable);
        }
        circuit.now = circuit.breaker.snapshot().retry_at.unwrap();
        let trial = circuit.admit().unwrap();
        for (number, permit) in under_way.into_iter().enumerate() {
            let ended = if number < 20 { Code::Ok } else { Code::Unavailable };
            assert_eq!(circuit.end(permit, ended), None);
            assert_eq!(circuit.trials(), (1, BreakerState::HalfOpen));
        }
        let expected = if trial_ends == Code::Ok { Transition::Closed } else { Transition::Opened };
        assert_eq!(circuit.end(trial, trial_ends), Some(expected));
        assert_eq!(circuit.shown().1, u16::from(trial_ends != Code::Ok));
    }
}

#[test]
fn f90_looking_changes_nothing() {
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    let before = circuit.breaker.clone();
    for _ in 0..1_000 {
        let _ = (circuit.breaker.state(), circuit.breaker.snapshot(), circuit.breaker.is_clean());
        let _ = (format!("{:?}", circuit.breaker), Gate::of(&circuit.breaker));
        let _ = Gate::of(&circuit.breaker).admit(circuit.now);
    }
    assert_eq!(circuit.breaker, before);
    assert_eq!(circuit.breaker.state(), BreakerState::Open, "only an admission half-opens");
    assert!(circuit.admit().is_ok());
}

/// Every order of eight steps; whatever happened, the breaker is never stuck.
#[test]
fn f91_once_it_is_quiet_for_long_enough_a_trial_is_always_admitted() {
    const STEPS: usize = 8;
    for mut order in 0..5usize.pow(STEPS as u32) {
        let mut circuit = Circuit::new(opens_after(2));
        let mut under_way = std::collections::VecDeque::new();
        for _ in 0..STEPS {
            let (step, rest) = (order % 5, order / 5);
            order = rest;
            match step {
                0 => under_way.extend(circuit.admit()),
                1 => circuit.pass(5_000),
                ended => {
                    let ended = [Code::Ok, Code::Internal, Code::NotFound][ended - 2];
                    if let Some(permit) = under_way.pop_front() {
                        circuit.end(permit, ended);
                    }
                }
            }
        }
        circuit.pass(10_000);
        assert!(circuit.admit().is_ok(), "stuck: {:?}", circuit.breaker);
    }
}

/// Leave that was given, and whose attempt never went out.
#[test]
fn f94_a_call_killed_between_leave_and_sending_costs_no_slot() {
    let policy = calls(3, 100);
    let mut circuit = Circuit::ready_for_trials(opens_after(1).with_max_trials(3).unwrap());
    for _ in 0..3 {
        let (breaker, settings) = (&mut circuit.breaker, &circuit.policy);
        let mut upstream = Single::new(&policy).with_breaker(breaker, settings);
        let mut call = Call::new(policy.deadline(circuit.now, Deadline::NONE), 1);
        let Action::Attempt(never_sent) = call.poll(circuit.now, &mut upstream) else {
            panic!("it had a slot");
        };
        drop(never_sent);
        call.cancel(circuit.now, &mut upstream);
    }
    let permits: Vec<_> = (0..3).map(|_| circuit.admit().unwrap()).collect();
    assert!(circuit.admit().is_err(), "capacity is whole again, and no more than whole");
    let [.., last] = <[_; 3]>::try_from(permits).unwrap();
    circuit.breaker.record(circuit.now, last, Verdict::Success, &circuit.policy);
    assert_eq!(circuit.breaker.state(), BreakerState::Closed);
}

/// Even a call that is forgotten without a word gives its slot back, a second after its deadline:
/// until then whoever waited for it may still say that it ran into it.
#[test]
fn f94_a_call_that_is_dropped_silently_costs_its_slot_until_its_lease_is_over() {
    let policy = calls(3, 100);
    let mut circuit = Circuit::ready_for_trials(opens_after(1));
    {
        let (breaker, settings) = (&mut circuit.breaker, &circuit.policy);
        let mut upstream = Single::new(&policy).with_breaker(breaker, settings);
        let mut call = Call::new(policy.deadline(circuit.now, Deadline::NONE), 1);
        assert!(matches!(call.poll(circuit.now, &mut upstream), Action::Attempt(_)));
    }
    circuit.pass(10_999);
    assert!(circuit.admit().is_err());
    circuit.pass(1);
    assert!(circuit.admit().is_ok());
}

/// A trial that hangs is booked at its deadline or a little later, for no timer is early; whoever
/// asks in between must not be let out in its place, or what hangs never opens its circuit again.
#[test]
fn f84_a_trial_that_hangs_is_tried_once_in_each_open_time_however_many_ask() {
    let policy = calls(1, 100).with_timeout(millis(1_000)).unwrap();
    for late in [0, 1, 10, 999] {
        let mut circuit = Circuit::ready_for_trials(opens_after(1));
        let (mut trials, mut flying) = (0, None);
        // Somebody asks in each millisecond, before the one who waits is woken.
        for _ in 0..60_000 {
            let (breaker, settings) = (&mut circuit.breaker, &circuit.policy);
            let mut upstream = Single::new(&policy).with_breaker(breaker, settings);
            let mut other = Call::new(policy.deadline(circuit.now, Deadline::NONE), 1);
            if let Action::Attempt(trial) = other.poll(circuit.now, &mut upstream) {
                assert!(flying.is_none(), "{late} ms late: another trial beside the first");
                trials += 1;
                flying = Some((other, trial));
            }
            if let Some((_, trial)) = &flying
                && circuit.now >= trial.deadline().instant().after(ms(late))
                && let Some((mut call, trial)) = flying.take()
            {
                call.complete(circuit.now, &mut upstream, trial, code(Code::DeadlineExceeded));
            }
            circuit.pass(1);
        }
        // A second or two of waiting and ten of being open, and so on.
        assert!((5..=6).contains(&trials), "{late} ms late: {trials} trials in a minute");
    }
}
