//! Results that come late, out of order, or not at all: C25, C28, C51 and C52.

use evenkeel_core::{
    Action, Attempt, BreakerState, Call, CallPolicy, Code, Deadline, Instant, Random, Single,
    SmallRng, StopReason, Transition,
};

use crate::circuit::Circuit;
use crate::driver::OK;
use crate::policies::{calls, ms, opens_after};

#[test]
fn c25_a_failure_from_before_the_opening_does_not_touch_the_trial() {
    let mut circuit = Circuit::new(opens_after(2));
    let straggler = circuit.admit().unwrap();
    circuit.attempt(Code::Unavailable);
    circuit.attempt(Code::Unavailable);
    circuit.pass(10_000);
    let trial = circuit.admit().unwrap();
    assert_eq!(circuit.end(straggler, Code::Unavailable), None);
    assert_eq!(circuit.trials(), (1, BreakerState::HalfOpen));
    assert_eq!(circuit.end(trial, Code::Ok), Some(Transition::Closed));
}

#[test]
fn a_late_failure_does_not_prolong_the_open_time() {
    let mut circuit = Circuit::new(opens_after(1));
    let straggler = circuit.admit().unwrap();
    circuit.attempt(Code::Unavailable);
    let opened = circuit.breaker.snapshot();
    circuit.pass(9_000);
    assert_eq!(circuit.end(straggler, Code::Unavailable), None);
    assert_eq!(circuit.breaker.snapshot(), opened);
}

#[test]
fn c28_trials_that_end_after_the_period_change_nothing() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2).with_max_trials(3).unwrap());
    let [first, second, third] = [(); 3].map(|()| circuit.admit().unwrap());
    assert_eq!(circuit.end(first, Code::Ok), Some(Transition::Closed));
    assert_eq!(circuit.end(second, Code::Unavailable), None);
    assert_eq!(circuit.end(third, Code::Unavailable), None);
    assert_eq!(circuit.shown(), (BreakerState::Closed, 0));
}

#[test]
fn c52_every_period_counts_anew_and_the_reopenings_are_shown() {
    let mut circuit = Circuit::ready_for_trials(opens_after(2));
    let mut shown = Vec::new();
    for _ in 0..3 {
        circuit.attempt(Code::Unavailable);
        let snapshot = circuit.breaker.snapshot();
        shown.push((snapshot.failures, snapshot.reopenings));
        circuit.now = snapshot.retry_at.unwrap();
    }
    assert_eq!(shown, [(1, 1), (1, 2), (1, 3)]);
}

/// A crowd, a third of which walks away at any moment, on a breaker that opens at one failure.
#[test]
fn c51_a_crowd_that_walks_away_leaves_no_trace() {
    for seed in 0..20 {
        let mut crowd = Crowd::on(Circuit::new(opens_after(1)));
        crowd.come_and_go(&mut SmallRng::seeded(seed));
        assert!(crowd.circuit.breaker.is_clean());
        assert_eq!((crowd.answered, crowd.gone, crowd.refused), (80, 40, 0));
    }
}

/// The same crowd on a breaker that has just become half-open: whoever has the slot may walk away.
#[test]
fn c51_and_on_a_half_open_breaker_the_slot_comes_back() {
    for seed in 0..20 {
        let mut crowd = Crowd::on(Circuit::ready_for_trials(opens_after(1)));
        crowd.come_and_go(&mut SmallRng::seeded(seed));
        assert_eq!(crowd.circuit.trials(), (0, BreakerState::Closed), "a slot was lost");
        assert_eq!(crowd.answered + crowd.gone + crowd.refused, 120);
        assert!(crowd.refused > 0, "nobody came while the trial was under way");
        assert!(crowd.answered > 40, "it closed too late: {} were refused", crowd.refused);
    }
}

/// 120 calls that come within a second; each third one is cancelled, the others are answered.
struct Crowd {
    circuit: Circuit,
    policy: CallPolicy,
    under_way: Vec<Visit>,
    answered: u32,
    gone: u32,
    refused: u32,
}

struct Visit {
    ends: Instant,
    walks_away: bool,
    call: Call,
    attempt: Attempt,
}

impl Crowd {
    fn on(circuit: Circuit) -> Self {
        let policy = calls(1, 100);
        Self { circuit, policy, under_way: Vec::new(), answered: 0, gone: 0, refused: 0 }
    }

    fn come_and_go(&mut self, rng: &mut SmallRng) {
        let began = self.circuit.now;
        let mut span = |millis: u32| ms(u64::from(1 + rng.next_u32() % millis));
        let mut visits: Vec<_> = (0..120).map(|_| (began + span(1_000), span(100))).collect();
        visits.sort_unstable();
        for (number, (comes, stays)) in (0..).zip(visits) {
            self.leave(comes);
            self.circuit.now = comes;
            self.enter(number, comes + stays);
        }
        self.leave(Instant::MAX);
    }

    fn enter(&mut self, number: u32, ends: Instant) {
        let Circuit { breaker, policy, now } = &mut self.circuit;
        let mut upstream = Single::new(&self.policy).with_breaker(breaker, policy);
        let mut call = Call::new(self.policy.deadline(*now, Deadline::NONE), number);
        match call.poll(*now, &mut upstream) {
            Action::Attempt(attempt) => {
                let walks_away = number.is_multiple_of(3);
                self.under_way.push(Visit { ends, walks_away, call, attempt });
            }
            Action::Finish(StopReason::CircuitOpen { .. }) => self.refused += 1,
            other => panic!("{other:?}"),
        }
    }

    /// Ends everything that ends by `until`, in order.
    fn leave(&mut self, until: Instant) {
        self.under_way.sort_by_key(|visit| visit.ends);
        let leaving = self.under_way.partition_point(|visit| visit.ends <= until);
        for mut visit in self.under_way.drain(..leaving) {
            let Circuit { breaker, policy, .. } = &mut self.circuit;
            let mut upstream = Single::new(&self.policy).with_breaker(breaker, policy);
            if visit.walks_away {
                visit.call.cancel(visit.ends, &mut upstream);
                self.gone += 1;
            } else {
                visit.call.complete(visit.ends, &mut upstream, visit.attempt, OK);
                self.answered += 1;
            }
        }
    }
}
