//! A gate answers as its breaker would, without asking it wherever one word can tell.

use core::time::Duration;

use evenkeel_core::{
    BreakerPolicy, CircuitBreaker, Consecutive, Deadline, Gate, Instant, Passage, Permit, Rejected,
    Verdict, checked,
};

const OPEN_FOR: u64 = 1_000;
const POLICY: BreakerPolicy = checked!(
    BreakerPolicy::new(checked!(Consecutive::new(2)))
        .with_open_for(Duration::from_micros(OPEN_FOR))
);

/// The first instant that a word has no room for: it is kept for "never".
const TOO_LATE: u64 = (1 << 62) - 1;

/// Closed breakers with nothing counted, in the first periods and much later.
fn quiet() -> Vec<CircuitBreaker> {
    let mut breakers = vec![CircuitBreaker::new()];
    for periods in [1, 2, 3, 255, 70_000] {
        let mut breaker = CircuitBreaker::new();
        for _ in 0..periods {
            breaker.reset();
        }
        breakers.push(breaker);
    }
    breakers
}

fn leave(breaker: &CircuitBreaker) -> Permit {
    breaker.clone().admit(Instant::ZERO, Deadline::NONE, &POLICY).expect("it is closed")
}

/// The same with a failure counted, one before it opens.
fn busy(mut breaker: CircuitBreaker) -> CircuitBreaker {
    let permit = leave(&breaker);
    assert_eq!(breaker.record(Instant::ZERO, permit, Verdict::Failure, &POLICY), None);
    breaker
}

/// Open, until `retry_at`.
fn open(retry_at: u64) -> CircuitBreaker {
    let now = Instant::from_micros(retry_at - OPEN_FOR);
    let mut breaker = busy(CircuitBreaker::new());
    let permit = leave(&breaker);
    breaker.record(now, permit, Verdict::Failure, &POLICY).expect("it opens");
    assert_eq!(breaker.snapshot().retry_at, Some(Instant::from_micros(retry_at)));
    breaker
}

fn half_open() -> CircuitBreaker {
    let mut breaker = open(5_000);
    let trial = breaker.admit(Instant::from_micros(5_000), Deadline::NONE, &POLICY);
    assert!(trial.expect("a trial").transition().is_some());
    breaker
}

fn forced(how: fn(&mut CircuitBreaker) -> Option<evenkeel_core::Transition>) -> CircuitBreaker {
    let mut breaker = CircuitBreaker::new();
    how(&mut breaker);
    breaker
}

fn until(retry_at: Instant) -> Passage {
    Passage::Refused(Rejected { retry_at })
}

#[test]
fn a_closed_one_gives_the_leave_its_breaker_would() {
    assert_eq!(Gate::of(&CircuitBreaker::new()).to_bits(), 0, "all zero in memory");
    for breaker in quiet().into_iter().flat_map(|breaker| [breaker.clone(), busy(breaker)]) {
        for now in [0, 1, TOO_LATE, u64::MAX] {
            let passage = Gate::of(&breaker).admit(Instant::from_micros(now));
            assert_eq!(passage, Passage::Granted(leave(&breaker)), "{breaker:?}");
        }
    }
}

#[test]
fn an_open_one_refuses_until_its_time_is_over() {
    for retry_at in [OPEN_FOR, 5_000, 1 << 30, 1 << 61, TOO_LATE - 1] {
        let gate = Gate::of(&open(retry_at));
        let end = Instant::from_micros(retry_at);
        for now in [0, retry_at - 1] {
            assert_eq!(gate.admit(Instant::from_micros(now)), until(end), "until {retry_at}");
        }
        for now in [retry_at, retry_at + 1, u64::MAX] {
            assert_eq!(gate.admit(Instant::from_micros(now)), Passage::Ask, "from {retry_at} on");
        }
    }
}

/// With no open time, at the first instant of a clock, the word has no time in it either.
#[test]
fn one_that_opened_for_no_time_is_asked_and_ignores_results() {
    let policy = POLICY.with_open_for(Duration::ZERO).unwrap();
    let mut breaker = busy(CircuitBreaker::new());
    let permits = [leave(&breaker), leave(&breaker)];
    for (permit, number) in permits.into_iter().zip(1..) {
        let opened = breaker.record(Instant::ZERO, permit, Verdict::Failure, &policy);
        assert_eq!(opened.is_some(), number == 1, "the second permit is of an ended period");
    }
    let gate = Gate::of(&breaker);
    assert_eq!(gate.admit(Instant::ZERO), Passage::Ask);
    let straggler = leave(&CircuitBreaker::new());
    assert!(Verdict::ALL.into_iter().all(|verdict| gate.ignores(&straggler, verdict)));
}

/// What does not fit, and what only the breaker knows, is left to it.
#[test]
fn what_one_word_cannot_tell_is_asked() {
    let late = [TOO_LATE, TOO_LATE + 1, 1 << 63, u64::MAX - 1, u64::MAX].map(open);
    let others = [half_open(), forced(CircuitBreaker::force_closed)];
    for breaker in late.into_iter().chain(others) {
        let gate = Gate::of(&breaker);
        for now in [0, 1, 5_000, TOO_LATE - 1, TOO_LATE, u64::MAX - 1, u64::MAX] {
            assert_eq!(gate.admit(Instant::from_micros(now)), Passage::Ask, "{breaker:?}");
        }
        for verdict in Verdict::ALL {
            assert!(!gate.ignores(&leave(&CircuitBreaker::new()), verdict), "{breaker:?}");
        }
    }
}

#[test]
fn one_forced_open_refuses_for_ever() {
    let gate = Gate::of(&forced(CircuitBreaker::force_open));
    for now in [0, 5_000, TOO_LATE - 1, TOO_LATE, u64::MAX - 1] {
        assert_eq!(gate.admit(Instant::from_micros(now)), until(Instant::MAX));
    }
}

/// Each verdict on each permit, where the answer is known without the breaker.
#[test]
fn it_ignores_what_would_change_nothing() {
    let strangers = || quiet().into_iter().map(|breaker| leave(&breaker));
    for breaker in quiet() {
        let own = leave(&breaker);
        let (still, counting) = (Gate::of(&breaker), Gate::of(&busy(breaker.clone())));
        for verdict in Verdict::ALL {
            let nothing = matches!(verdict, Verdict::Ignored);
            let good = matches!(verdict, Verdict::Success);
            assert_eq!(still.ignores(&own, verdict), nothing || good, "{verdict:?}");
            assert_eq!(counting.ignores(&own, verdict), nothing, "{verdict:?}");
            for stranger in strangers().filter(|stranger| *stranger != own) {
                assert!(still.ignores(&stranger, verdict) && counting.ignores(&stranger, verdict));
            }
        }
    }
    for breaker in [open(5_000), open(TOO_LATE - 1), forced(CircuitBreaker::force_open)] {
        for verdict in Verdict::ALL {
            let of_any = |permit| Gate::of(&breaker).ignores(&permit, verdict);
            assert!(strangers().all(of_any), "{breaker:?}");
        }
    }
}

#[test]
fn a_word_is_a_gate() {
    let mut words = std::collections::HashSet::new();
    for breaker in [CircuitBreaker::new(), busy(CircuitBreaker::new()), open(5_000), half_open()] {
        let gate = Gate::of(&breaker);
        assert_eq!(Gate::from_bits(gate.to_bits()), gate);
        assert!(words.insert(gate.to_bits()), "one word for two states: {breaker:?}");
    }
}
