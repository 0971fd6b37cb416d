//! This file knows one breaker for each of many keys: found, asked, told. The keys are asked for
//! in an order that no cache foresees.

use core::hint::black_box;
use core::num::NonZeroU32;
use std::rc::Rc;
use std::sync::LazyLock;

use dashmap::DashMap;
use evenkeel_core::{BreakerPolicy, Clock, Deadline, Verdict};
use evenkeel_std::{SharedTable, StdClock};
use failsafe::CircuitBreaker as _;
use governor::{Quota, RateLimiter};

use crate::case::{Case, Group};
use crate::shared::failsafe_in_a_row;

pub(crate) fn groups() -> Vec<Group> {
    let of = |title, keys| Group { title, cases: cases(keys) };
    vec![
        of("10 keys", 10),
        of("1,000 keys", 1_000),
        of("100,000 keys", 100_000),
        of("1,000,000 keys", 1_000_000),
    ]
}

fn cases(keys: u64) -> Vec<Case> {
    vec![
        Case::new("failsafe in a DashMap, unbounded", {
            let map = once(move || {
                let map = DashMap::new();
                for key in 0..keys {
                    map.insert(key, failsafe_in_a_row());
                }
                map
            });
            move |times| {
                for key in scattered(times, keys) {
                    if let Some(breaker) = map.get(&key) {
                        _ = breaker.call(|| Ok::<(), ()>(()));
                    }
                }
            }
        }),
        Case::new("governor, a rate limiter", {
            let limiter = once(move || {
                let quota = Quota::per_second(NonZeroU32::MAX);
                let limiter = RateLimiter::dashmap(quota);
                for key in 0..keys {
                    _ = limiter.check_key(&key);
                }
                limiter
            });
            move |times| {
                for key in scattered(times, keys) {
                    _ = black_box(limiter.check_key(&key));
                }
            }
        }),
        Case::new("evenkeel, bounded", {
            let table = once(move || {
                let room = usize::try_from(keys).expect("fewer than memory has bytes");
                let table = SharedTable::<u64>::new(room).expect("room for one or more");
                for key in 0..keys {
                    _ = table.lookup_with(StdClock.now(), &key, || key);
                }
                table
            });
            move |times| {
                for key in scattered(times, keys) {
                    let now = StdClock.now();
                    let found = table.lookup_with(now, &key, || key);
                    let Some(breaker) = found.handle else { continue };
                    if let Ok(permit) = breaker.admit(now, Deadline::NONE, &POLICY) {
                        breaker.record(now, permit, Verdict::Success, &POLICY);
                    }
                }
            }
        }),
    ]
}

/// Made by the first run, so that a contestant who is not asked takes no memory.
fn once<T: 'static>(make: impl FnOnce() -> T + 'static) -> Rc<LazyLock<T, Box<dyn FnOnce() -> T>>> {
    Rc::new(LazyLock::new(Box::new(make)))
}

fn scattered(times: u64, keys: u64) -> impl Iterator<Item = u64> {
    // Odd, and so coprime to no fewer than every power of two; far from every short stride.
    (0..times).map(move |time| time.wrapping_mul(0x9e37_79b9_7f4a_7c15) % keys)
}

static POLICY: BreakerPolicy = BreakerPolicy::DEFAULT;
