//! This file knows one breaker for each of many keys: found, asked, told. The keys are asked for
//! in an order that no cache foresees.

use core::hint::black_box;
use core::num::NonZeroU32;
use std::rc::Rc;
use std::sync::LazyLock;

use dashmap::DashMap;
use evenkeel_core::{BreakerPolicy, Clock, Deadline, Instant, Verdict};
use evenkeel_std::{SharedTable, StdClock};
use failsafe::CircuitBreaker as _;
use governor::clock::{Clock as _, QuantaClock, QuantaInstant, Reference as _};
use governor::{DefaultKeyedRateLimiter, Quota};

use crate::case::{Case, Group};
use crate::shared::{InARow, failsafe_in_a_row};

pub(crate) fn groups() -> Vec<Group> {
    let of = |title, keys, threads| Group { title, cases: cases(keys, threads) };
    vec![
        of("10 keys", 10, 1),
        of("1,000 keys", 1_000, 1),
        of("100,000 keys", 100_000, 1),
        of("1,000,000 keys", 1_000_000, 1),
        of("1,000 keys, two threads", 1_000, 2),
        of("100,000 keys, two threads", 100_000, 2),
    ]
}

/// What keeps something for each key.
pub(crate) trait Keyed: Sync + 'static {
    const NAME: &str;

    fn with_keys(keys: u64) -> Self;
    fn ask(&self, key: u64);
}

fn cases(keys: u64, threads: u64) -> Vec<Case> {
    vec![
        case::<Failsafe>(keys, threads),
        case::<Governor>(keys, threads),
        case::<Ours<StdClock>>(keys, threads),
        case::<Ours<Quanta>>(keys, threads),
    ]
}

fn case<T: Keyed>(keys: u64, threads: u64) -> Case {
    let kept = once(move || T::with_keys(keys));
    Case::new(T::NAME, move |times| {
        let kept: &T = &kept;
        let ask = |thread| {
            // Each thread begins elsewhere, and then asks for the same keys.
            let offset = thread * times;
            scattered(offset..offset + times, keys).for_each(|key| kept.ask(key));
        };
        if threads == 1 {
            return ask(0);
        }
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || ask(thread));
            }
        });
    })
}

pub(crate) type Failsafe = DashMap<u64, InARow>;

impl Keyed for Failsafe {
    const NAME: &str = "failsafe in a DashMap, unbounded";

    fn with_keys(keys: u64) -> Self {
        let map = Self::new();
        for key in 0..keys {
            map.insert(key, failsafe_in_a_row());
        }
        map
    }

    fn ask(&self, key: u64) {
        if let Some(breaker) = self.get(&key) {
            _ = breaker.call(|| Ok::<(), ()>(()));
        }
    }
}

pub(crate) type Governor = DefaultKeyedRateLimiter<u64>;

impl Keyed for Governor {
    const NAME: &str = "governor, a rate limiter";

    fn with_keys(keys: u64) -> Self {
        let limiter = Self::keyed(Quota::per_second(NonZeroU32::MAX));
        for key in 0..keys {
            _ = limiter.check_key(&key);
        }
        limiter
    }

    fn ask(&self, key: u64) {
        _ = black_box(self.check_key(&key));
    }
}

/// The house's table, with a clock.
pub(crate) struct Ours<C> {
    table: SharedTable<u64>,
    clock: C,
}

/// A clock of which there is one for each table.
pub(crate) trait Named: Clock + Sync + 'static {
    const NAME: &str;

    fn begin() -> Self;
}

impl<C: Named> Keyed for Ours<C> {
    const NAME: &str = C::NAME;

    fn with_keys(keys: u64) -> Self {
        let room = usize::try_from(keys).expect("fewer than memory has bytes");
        let table = SharedTable::new(room).expect("room for one or more");
        let ours = Self { table, clock: C::begin() };
        for key in 0..keys {
            _ = ours.table.lookup_with(ours.clock.now(), &key, || key);
        }
        ours
    }

    fn ask(&self, key: u64) {
        let now = self.clock.now();
        _ = self.table.lend(
            now,
            &key,
            || key,
            |breaker| {
                let permit = breaker?.admit(now, Deadline::NONE, &POLICY).ok()?;
                breaker?.record(now, permit, Verdict::Success, &POLICY)
            },
        );
    }
}

impl Named for StdClock {
    const NAME: &str = "evenkeel, bounded";

    fn begin() -> Self {
        Self
    }
}

/// The clock that governor reads: the processor's counter, without the kernel's corrections.
pub(crate) struct Quanta {
    clock: QuantaClock,
    began: QuantaInstant,
}

impl Clock for Quanta {
    fn now(&self) -> Instant {
        let since = self.clock.now().duration_since(self.began);
        Instant::from_micros(since.as_u64() / 1_000)
    }
}

impl Named for Quanta {
    const NAME: &str = "evenkeel, with governor's clock";

    fn begin() -> Self {
        let clock = QuantaClock::default();
        Self { began: clock.now(), clock }
    }
}

/// Made by the first run, so that a contestant who is not asked takes no memory.
fn once<T: 'static>(make: impl FnOnce() -> T + 'static) -> Rc<LazyLock<T, Box<dyn FnOnce() -> T>>> {
    Rc::new(LazyLock::new(Box::new(make)))
}

fn scattered(times: core::ops::Range<u64>, keys: u64) -> impl Iterator<Item = u64> {
    // Odd, and so coprime to no fewer than every power of two; far from every short stride.
    times.map(move |time| time.wrapping_mul(0x9e37_79b9_7f4a_7c15) % keys)
}

static POLICY: BreakerPolicy = BreakerPolicy::DEFAULT;
