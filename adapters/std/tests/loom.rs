//! What threads share, in every interleaving of two threads that loom finds.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p evenkeel-std --test loom --release
//! ```
//!
//! Without bounds on preemption, so what passes here holds for these threads under the C11 memory
//! model as loom implements it.
#![cfg(loom)]

use core::time::Duration;

use evenkeel_std::core::{
    BreakerPolicy, BreakerState, Consecutive, Deadline, Instant, Micros, Transition, Verdict,
    checked,
};
use evenkeel_std::{SharedBreaker, SharedTable, SharedThrottle};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// Two failures in a row open it for ten microseconds; one trial at a time.
const POLICY: BreakerPolicy = checked!(
    BreakerPolicy::new(checked!(Consecutive::new(2))).with_open_for(Duration::from_micros(10))
);
const START: Instant = Instant::ZERO;
const DUE: Instant = Instant::from_micros(10);
const LEASE: Deadline = Deadline::at(Instant::from_micros(50));

/// One attempt at `now`; whether it was let out, and what its end changed.
fn attempt(breaker: &SharedBreaker, now: Instant, verdict: Verdict) -> Option<Option<Transition>> {
    let permit = breaker.admit(now, LEASE, &POLICY).ok()?;
    Some(breaker.record(now, permit, verdict, &POLICY))
}

fn opened() -> Arc<SharedBreaker> {
    let breaker = SharedBreaker::new();
    attempt(&breaker, START, Verdict::Failure);
    attempt(&breaker, START, Verdict::Failure);
    Arc::new(breaker)
}

/// Runs one closure on each of two threads.
fn race<A: 'static, B>(
    breaker: &Arc<SharedBreaker>,
    one: impl FnOnce(&SharedBreaker) -> A + 'static,
    other: impl FnOnce(&SharedBreaker) -> B,
) -> (A, B) {
    let theirs = Arc::clone(breaker);
    let thread = thread::spawn(move || one(&theirs));
    let other = other(breaker);
    (thread.join().unwrap(), other)
}

/// Nobody is under way any more: what the gate answers is what the breaker would.
fn gate_and_breaker_agree(breaker: &SharedBreaker) {
    let before = breaker.snapshot();
    match before.state {
        BreakerState::Closed => {
            // A success the gate takes for nothing new must be nothing new to the breaker, and a
            // permit of the gate's epoch must count in it.
            assert_eq!(attempt(breaker, DUE, Verdict::Success), Some(None));
            assert_eq!(breaker.snapshot().failures, 0);
            assert_eq!(attempt(breaker, DUE, Verdict::Failure), Some(None));
            assert_eq!(breaker.snapshot().failures, 1);
        }
        BreakerState::Open => {
            let retry_at = before.retry_at.unwrap();
            let early = Instant::from_micros(retry_at.as_micros() - 1);
            assert_eq!(breaker.admit(early, LEASE, &POLICY).unwrap_err().retry_at, retry_at);
            let trial = breaker.admit(retry_at, LEASE, &POLICY).unwrap();
            assert_eq!(trial.transition(), Some(Transition::HalfOpened));
        }
        BreakerState::HalfOpen => {
            let asked = breaker.admit(DUE, LEASE, &POLICY);
            assert_eq!(asked.is_ok(), before.trials == 0);
        }
        BreakerState::ForcedClosed | BreakerState::ForcedOpen => unreachable!("nobody forced it"),
    }
}

#[test]
fn no_failure_is_lost_and_one_of_them_opens() {
    loom::model(|| {
        let breaker = Arc::new(SharedBreaker::new());
        let fail = |breaker: &SharedBreaker| attempt(breaker, START, Verdict::Failure);
        let ends = race(&breaker, fail, fail);
        assert!(matches!(ends, (Some(None), Some(Some(_))) | (Some(Some(_)), Some(None))));
        assert_eq!(breaker.snapshot().state, BreakerState::Open);
        gate_and_breaker_agree(&breaker);
    });
}

#[test]
fn a_success_and_a_failure_are_counted_in_either_order() {
    loom::model(|| {
        let breaker = Arc::new(SharedBreaker::new());
        race(
            &breaker,
            |breaker| attempt(breaker, START, Verdict::Success),
            |breaker| attempt(breaker, START, Verdict::Failure),
        );
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.state, BreakerState::Closed);
        assert!(snapshot.failures <= 1);
        gate_and_breaker_agree(&breaker);
    });
}

#[test]
fn of_two_callers_at_the_end_of_the_open_time_one_is_let_out() {
    loom::model(|| {
        let breaker = opened();
        let ask = |breaker: &SharedBreaker| breaker.admit(DUE, LEASE, &POLICY);
        let (one, other) = race(&breaker, ask, ask);
        assert!(one.is_ok() != other.is_ok());
        let refused = one.err().or(other.err()).unwrap();
        assert_eq!(refused.retry_at, LEASE.instant());
        gate_and_breaker_agree(&breaker);
    });
}

/// Trials that end one way or another, or in nothing, each thread asking twice.
#[test]
fn trials_never_exceed_their_limit() {
    for ends in [Verdict::Failure, Verdict::Ignored, Verdict::SlowSuccess] {
        loom::model(move || {
            let breaker = opened();
            let under_way = Arc::new(AtomicUsize::new(0));
            let try_twice = |under_way: Arc<AtomicUsize>| {
                move |breaker: &SharedBreaker| {
                    for _ in 0..2 {
                        let Ok(permit) = breaker.admit(DUE, LEASE, &POLICY) else { continue };
                        assert_eq!(under_way.fetch_add(1, Ordering::SeqCst), 0);
                        under_way.fetch_sub(1, Ordering::SeqCst);
                        breaker.record(DUE, permit, ends, &POLICY);
                    }
                }
            };
            race(&breaker, try_twice(Arc::clone(&under_way)), try_twice(under_way));
            let state = breaker.snapshot().state;
            let stays = matches!(ends, Verdict::Ignored);
            assert_eq!(state, if stays { BreakerState::HalfOpen } else { BreakerState::Open });
            gate_and_breaker_agree(&breaker);
        });
    }
}

#[test]
fn a_lost_trial_frees_itself_for_one_caller() {
    loom::model(|| {
        let breaker = opened();
        let lost = breaker.admit(DUE, LEASE, &POLICY).unwrap();
        let later = Deadline::at(LEASE.instant() + Micros::from_micros(50));
        let ask =
            move |breaker: &SharedBreaker| breaker.admit(LEASE.instant(), later, &POLICY).is_ok();
        let (one, other) = race(&breaker, ask, ask);
        assert!(one != other);
        // What comes of it later changes nothing.
        assert_eq!(breaker.record(later.instant(), lost, Verdict::Failure, &POLICY), None);
        assert_eq!(breaker.snapshot().trials, 1);
    });
}

#[test]
fn stragglers_change_nothing_while_a_trial_closes() {
    loom::model(|| {
        let breaker = Arc::new(SharedBreaker::new());
        let straggler = breaker.admit(START, LEASE, &POLICY).unwrap();
        attempt(&breaker, START, Verdict::Failure);
        attempt(&breaker, START, Verdict::Failure);
        let (late, trial) = race(
            &breaker,
            |breaker| breaker.record(DUE, straggler, Verdict::Failure, &POLICY),
            |breaker| attempt(breaker, DUE, Verdict::Success),
        );
        assert_eq!((late, trial), (None, Some(Some(Transition::Closed))));
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.state, snapshot.failures), (BreakerState::Closed, 0));
        gate_and_breaker_agree(&breaker);
    });
}

#[test]
fn whoever_asks_while_a_trial_closes_gets_a_whole_answer() {
    loom::model(|| {
        let breaker = opened();
        let (closed, asked) = race(
            &breaker,
            |breaker| attempt(breaker, DUE, Verdict::Success),
            |breaker| {
                let early = breaker.admit(Instant::from_micros(9), LEASE, &POLICY);
                early.map(|permit| breaker.record(DUE, permit, Verdict::Failure, &POLICY))
            },
        );
        assert_eq!(closed, Some(Some(Transition::Closed)));
        match asked {
            Ok(changed) => assert_eq!((changed, breaker.snapshot().failures), (None, 1)),
            Err(refused) => assert!([DUE, LEASE.instant()].contains(&refused.retry_at)),
        }
        gate_and_breaker_agree(&breaker);
    });
}

#[test]
fn two_threads_find_one_breaker_for_a_new_key_while_another_is_evicted() {
    loom::model(|| {
        let table = Arc::new(SharedTable::<String>::new(1).unwrap());
        drop(table.lookup(START, "old"));
        let theirs = Arc::clone(&table);
        let fail_one = |table: &SharedTable<String>| {
            let handle = table.lookup(START, "new").handle.unwrap();
            attempt(&handle, START, Verdict::Failure);
            handle
        };
        let thread = thread::spawn(move || fail_one(&theirs));
        let (mine, other) = (fail_one(&table), thread.join().unwrap());
        assert!(core::ptr::eq(&*mine, &*other));
        assert_eq!(mine.snapshot().state, BreakerState::Open, "no failure went elsewhere");
        assert_eq!(table.len(), 1);
        assert!(table.get("old").is_none());
    });
}

#[test]
fn what_one_thread_holds_another_does_not_evict() {
    loom::model(|| {
        let table = Arc::new(SharedTable::<String>::new(1).unwrap());
        let theirs = Arc::clone(&table);
        let thread = thread::spawn(move || drop(theirs.lookup(START, "other")));
        let mine = table.lookup(START, "mine").handle.unwrap();
        attempt(&mine, START, Verdict::Failure);
        thread.join().unwrap();
        let again = table.lookup(START, "mine").handle.unwrap();
        assert!(core::ptr::eq(&*mine, &*again));
        assert_eq!(again.snapshot().failures, 1);
    });
}

#[test]
fn a_hit_and_an_eviction_of_the_same_key_do_not_part_it() {
    loom::model(|| {
        let table = Arc::new(SharedTable::<u8>::new(1).unwrap());
        drop(table.lookup_with(START, &1, || 1));
        let theirs = Arc::clone(&table);
        let thread = thread::spawn(move || drop(theirs.lookup_with(START, &2, || 2)));
        let mine = table.lookup_with(START, &1, || 1).handle.unwrap();
        attempt(&mine, START, Verdict::Failure);
        thread.join().unwrap();
        let again = table.get(&1).unwrap();
        assert!(core::ptr::eq(&*mine, &*again), "found before or made after, but held");
        assert_eq!(again.snapshot().failures, 1);
        assert!(table.len() <= 2);
    });
}

#[test]
fn two_inserts_of_one_key_are_one() {
    loom::model(|| {
        let table = Arc::new(SharedTable::<u8>::new(2).unwrap());
        let theirs = Arc::clone(&table);
        let thread = thread::spawn(move || theirs.lookup_with(START, &1, || 1).handle.unwrap());
        let mine = table.lookup_with(START, &1, || 1).handle.unwrap();
        assert!(core::ptr::eq(&*mine, &*thread.join().unwrap()));
        assert_eq!(table.len(), 1);
    });
}

/// One comes back at the very moment from which on it is forgotten, or the one before, while the
/// idle ones are gone through.
#[test]
fn whoever_comes_back_while_the_idle_are_forgotten_is_not() {
    for back in [DUE, Instant::from_micros(9)] {
        loom::model(move || {
            let table = SharedTable::<u8>::new(4).unwrap();
            let table = Arc::new(table.with_idle_ttl(Duration::from_micros(10)).unwrap());
            drop(table.lookup_with(START, &1, || 1));
            let theirs = Arc::clone(&table);
            let thread = thread::spawn(move || drop(theirs.lookup_with(DUE, &2, || 2)));
            let mine = table.lookup_with(back, &1, || 1).handle.unwrap();
            thread.join().unwrap();
            assert!(core::ptr::eq(&*mine, &*table.get(&1).unwrap()));
            assert_eq!(table.len(), 2);
        });
    }
}

/// It opens on one thread, which lets it go, while another looks for somebody to evict.
#[test]
fn what_has_opened_is_not_evicted_for_having_been_let_go() {
    loom::model(|| {
        let table = Arc::new(SharedTable::<u8>::new(1).unwrap());
        let theirs = Arc::clone(&table);
        let thread = thread::spawn(move || {
            let breaker = theirs.lookup_with(START, &1, || 1).handle.unwrap();
            attempt(&breaker, START, Verdict::Failure);
            attempt(&breaker, START, Verdict::Failure);
        });
        drop(table.lookup_with(START, &2, || 2));
        thread.join().unwrap();
        assert_eq!(table.get(&1).unwrap().snapshot().state, BreakerState::Open);
    });
}

#[test]
fn the_last_token_is_given_once() {
    use evenkeel_std::core::ThrottlePolicy;
    const ONE: ThrottlePolicy = checked!(ThrottlePolicy::success_refilled(1, 100));
    loom::model(|| {
        let throttle = Arc::new(SharedThrottle::new(ONE));
        let theirs = Arc::clone(&throttle);
        let thread = thread::spawn(move || theirs.allow());
        assert!(throttle.allow() != thread.join().unwrap());
        assert_eq!(throttle.millitokens(), 0);
    });
}
