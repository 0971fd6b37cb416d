//! The laws of the table that a server's threads share.

mod forgetting;
mod large;
mod model;
mod order;
mod room;
mod threads;

use core::time::Duration;

use evenkeel_std::core::{
    BreakerPolicy, Consecutive, Deadline, Instant, Micros, Transition, Verdict, checked,
};
use evenkeel_std::{Handle, SharedBreaker, SharedTable};

type Table = SharedTable<String>;

/// One failure opens it for ten seconds.
const POLICY: BreakerPolicy = checked!(
    BreakerPolicy::new(checked!(Consecutive::new(1))).with_open_for(Duration::from_secs(10))
);
/// Two do.
const PATIENT: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(2)));

fn table(max: usize) -> Table {
    SharedTable::new(max).unwrap()
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Micros::from_millis(seconds * 1_000)
}

fn held(table: &Table, now: Instant, key: &str) -> Handle {
    table.lookup(now, key).handle.unwrap()
}

/// Looks every key up, in order, and keeps no handle.
fn look_up<'a>(table: &Table, now: Instant, keys: impl IntoIterator<Item = &'a str>) {
    for key in keys {
        drop(held(table, now, key));
    }
}

fn attempt(
    breaker: &SharedBreaker,
    now: Instant,
    verdict: Verdict,
    policy: &BreakerPolicy,
) -> Option<Transition> {
    let permit = breaker.admit(now, Deadline::NONE, policy).unwrap();
    breaker.record(now, permit, verdict, policy)
}

fn open(table: &Table, now: Instant, key: &str) {
    let breaker = held(table, now, key);
    assert_eq!(attempt(&breaker, now, Verdict::Failure, &POLICY), Some(Transition::Opened));
}

/// By a trial that succeeds once its open time is over.
fn close(table: &Table, key: &str) {
    let breaker = table.get(key).unwrap();
    let retry_at = breaker.snapshot().retry_at.unwrap();
    assert_eq!(attempt(&breaker, retry_at, Verdict::Success, &POLICY), Some(Transition::Closed));
}

fn keys(table: &Table) -> Vec<String> {
    let mut keys: Vec<_> = table.snapshots().into_iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys
}
