//! What threads share, under thousands of schedules of more threads than loom could exhaust.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p evenkeel-std --test shuttle
//! ```
//!
//! Every thread is a list of steps, and may go away before any of them with all it has: a permit
//! that nobody records, a handle, a place in a table. Schedules are drawn, so what passes here is
//! not proved; it is about more threads, and about combinations that loom's tests leave out. Orders
//! of memory are loom's business (`loom.rs`): here every step is seen by all.
#![cfg(shuttle)]

use core::time::Duration;
use std::collections::HashSet;

use evenkeel_std::core::{
    BreakerPolicy, BreakerState, CodeSet, Consecutive, Deadline, Instant, Micros, Outcome, Permit,
    Report, ThrottlePolicy, Verdict, Weight, checked,
};
use evenkeel_std::{SharedBreaker, SharedTable, SharedThrottle};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Barrier, Mutex};
use shuttle::thread;

/// Two failures in a row open it for ten microseconds; two trials at a time.
const POLICY: BreakerPolicy = checked!(
    checked!(
        BreakerPolicy::new(checked!(Consecutive::new(2))).with_open_for(Duration::from_micros(10))
    )
    .with_max_trials(TRIALS)
);
const TRIALS: u8 = 2;
const START: Instant = Instant::ZERO;
const DUE: Instant = Instant::from_micros(10);
const LEASE: Deadline = Deadline::at(Instant::from_micros(50));
const SCHEDULES: usize = 500;

/// Schedules drawn evenly, and some with few changes between threads, which go deeper.
fn on_schedules(run: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(run, SCHEDULES);
    shuttle::check_pct(run, SCHEDULES, 3);
}

/// Runs as many threads to their ends.
fn threads(count: usize, body: impl Fn(usize) + Clone + Send + 'static) {
    let run = |number| {
        let body = body.clone();
        thread::spawn(move || body(number))
    };
    for thread in (0..count).map(run).collect::<Vec<_>>() {
        thread.join().unwrap();
    }
}

/// Whether a thread goes away here.
fn goes_away() -> bool {
    thread_rng().gen_ratio(1, 5)
}

fn any_verdict() -> Verdict {
    Verdict::ALL[thread_rng().gen_range(0..Verdict::ALL.len())]
}

fn opened() -> SharedBreaker {
    let breaker = SharedBreaker::new();
    for _ in 0..2 {
        let permit = breaker.admit(START, LEASE, &POLICY).unwrap();
        breaker.record(START, permit, Verdict::Failure, &POLICY);
    }
    breaker
}

/// Nobody is under way any more, and every lease is over: somebody is let out, whatever happened,
/// and a success of that one closes it.
fn is_whole(breaker: &SharedBreaker) {
    // One that was renewed without a deadline runs for a second at least.
    let later = LEASE.instant() + Micros::from_millis(2_000);
    let lease = Deadline::at(later + Micros::from_micros(1_000));
    let permit = breaker.admit(later, lease, &POLICY).expect("a trial after everything is over");
    breaker.record(later, permit, Verdict::Success, &POLICY);
    assert_eq!(breaker.snapshot().state, BreakerState::Closed);
    assert_eq!(breaker.snapshot().failures, 0);
    assert!(breaker.is_clean());
}

/// Four threads that ask, hold, and end or forget what they were given.
#[test]
fn whoever_goes_away_leaves_a_breaker_that_recovers() {
    on_schedules(|| {
        let breaker = Arc::new(SharedBreaker::new());
        let theirs = Arc::clone(&breaker);
        threads(4, move |_| {
            for now in [START, DUE, Instant::from_micros(30)] {
                let Ok(permit) = theirs.admit(now, LEASE, &POLICY) else { continue };
                if goes_away() {
                    return;
                }
                theirs.renew(now, &permit, &POLICY);
                if goes_away() {
                    return;
                }
                theirs.record(now, permit, any_verdict(), &POLICY);
            }
        });
        is_whole(&breaker);
    });
}

/// Five threads at the end of the open time, two places, and some that never come back: at no time
/// are more under way than there are places, for as long as their lease runs.
#[test]
fn trials_never_exceed_their_limit_among_five() {
    on_schedules(|| {
        let breaker = Arc::new(opened());
        let (held, start) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(5)));
        let (theirs, mine) = (Arc::clone(&breaker), Arc::clone(&held));
        threads(5, move |_| {
            start.wait();
            for _ in 0..2 {
                let Ok(permit) = theirs.admit(DUE, LEASE, &POLICY) else { continue };
                let before = mine.fetch_add(1, Ordering::SeqCst);
                assert!(before < usize::from(TRIALS), "{before} were out already");
                if goes_away() {
                    // It is out until its lease ends, and is never heard of again.
                    return;
                }
                mine.fetch_sub(1, Ordering::SeqCst);
                theirs.record(DUE, permit, Verdict::Ignored, &POLICY);
            }
        });
        let lost = held.load(Ordering::SeqCst);
        assert_eq!(usize::from(breaker.snapshot().trials), lost, "every place but the lost ones");
        is_whole(&breaker);
    });
}

/// A straggler, a trial, an operator and a caller, in any order.
#[test]
fn an_operator_may_come_between_any_two_steps() {
    on_schedules(|| {
        let breaker = Arc::new(SharedBreaker::new());
        let straggler = Mutex::new(breaker.admit(START, LEASE, &POLICY).ok());
        for _ in 0..2 {
            let permit = breaker.admit(START, LEASE, &POLICY).unwrap();
            breaker.record(START, permit, Verdict::Failure, &POLICY);
        }
        let (theirs, straggler) = (Arc::clone(&breaker), Arc::new(straggler));
        threads(4, move |number| match number {
            0 => {
                let late: Permit = straggler.lock().unwrap().take().expect("one straggler");
                assert_eq!(theirs.record(DUE, late, Verdict::Failure, &POLICY), None);
            }
            1 => {
                theirs.force_open();
                theirs.reset();
            }
            2 => {
                theirs.force_closed();
                theirs.reset();
            }
            _ => {
                if let Ok(permit) = theirs.admit(DUE, LEASE, &POLICY) {
                    theirs.record(DUE, permit, any_verdict(), &POLICY);
                }
            }
        });
        is_whole(&breaker);
    });
}

/// Four threads on more keys than a table has room for, each of which may let go of its handle or
/// keep it: one key is one breaker for as long as anybody holds it, and the room is bounded.
#[test]
fn one_key_is_one_breaker_among_four_threads() {
    const ROOM: usize = 2;
    on_schedules(|| {
        let table = Arc::new(SharedTable::<u8>::new(ROOM).unwrap());
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (theirs, mine) = (Arc::clone(&table), Arc::clone(&kept));
        threads(4, move |number| {
            for turn in 0..2u8 {
                let key = thread_rng().gen_range(0..3u8);
                let now = Instant::from_micros(u64::from(turn));
                let Some(handle) = theirs.lookup_with(now, &key, || key).handle else { continue };
                if goes_away() {
                    return;
                }
                let Ok(permit) = handle.admit(now, LEASE, &POLICY) else { continue };
                if goes_away() {
                    return;
                }
                handle.record(now, permit, any_verdict(), &POLICY);
                if number % 2 == 0 {
                    mine.lock().unwrap().push((key, handle));
                }
            }
        });
        assert!(table.len() <= 4 * ROOM, "{}", table.len());
        let kept = kept.lock().unwrap();
        for (key, handle) in kept.iter() {
            let again = table.get(key).expect("what is held is there");
            assert!(core::ptr::eq(&**handle, &*again), "{key} is two breakers");
        }
        let keys: Vec<u8> = table.snapshots().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), keys.iter().collect::<HashSet<_>>().len(), "a key twice: {keys:?}");
    });
}

/// What opened is there after any number of newcomers, whoever let it go.
#[test]
fn an_open_circuit_survives_a_crowd_of_newcomers() {
    on_schedules(|| {
        let table = Arc::new(SharedTable::<u8>::new(1).unwrap());
        let theirs = Arc::clone(&table);
        threads(4, move |number| match number {
            0 => {
                let handle = theirs.lookup_with(START, &0, || 0).handle.unwrap();
                for _ in 0..2 {
                    let permit = handle.admit(START, LEASE, &POLICY).unwrap();
                    handle.record(START, permit, Verdict::Failure, &POLICY);
                }
            }
            other => {
                let key = u8::try_from(other).unwrap();
                drop(theirs.lookup_with(START, &key, || key));
                drop(theirs.lookup_with(START, &(key + 10), || key + 10));
            }
        });
        assert_eq!(table.get(&0).unwrap().snapshot().state, BreakerState::Open);
        assert!(table.len() <= 4, "{}", table.len());
    });
}

/// Six callers, three tokens, and one success that brings a third of one.
#[test]
fn tokens_are_neither_lost_nor_found() {
    const THREE: ThrottlePolicy = checked!(ThrottlePolicy::success_refilled(3, 334));
    on_schedules(|| {
        let throttle = Arc::new(SharedThrottle::new(THREE));
        let granted = Arc::new(AtomicUsize::new(0));
        let (theirs, mine) = (Arc::clone(&throttle), Arc::clone(&granted));
        threads(6, move |number| {
            if theirs.allow() {
                mine.fetch_add(1, Ordering::SeqCst);
            }
            if number < 3 {
                let report = Report {
                    outcome: Outcome::success(),
                    took: Micros::ZERO,
                    weight: Weight::Counts,
                };
                theirs.record(&report, CodeSet::RETRYABLE);
            }
        });
        let (granted, left) = (granted.load(Ordering::SeqCst), throttle.millitokens());
        // Three tokens and at most 1.002 more, less what was over the brim.
        assert!((3..=4).contains(&granted), "{granted}");
        let spent = u32::try_from(granted).unwrap() * 1_000 + left;
        assert!((3_000..=4_002).contains(&spent), "{granted} and {left}");
    });
}
