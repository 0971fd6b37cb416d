//! This file knows two threads on one breaker. A time is one thread's: as long as with one thread
//! alone where they do not disturb each other.

use core::hint::black_box;

use evenkeel_core::{Instant, Micros};
use evenkeel_std::SharedBreaker;
use failsafe::CircuitBreaker as _;
use recloser::Recloser;

use crate::case::{Case, Group};
use crate::shared::{POLICY, failsafe_in_a_row, succeed};

pub(crate) fn groups() -> Vec<Group> {
    let cases = vec![
        Case::new("recloser", |times| {
            let breaker = Recloser::custom().build();
            twice(times, || _ = black_box(&breaker).call(|| Ok::<(), ()>(())));
        }),
        Case::new("failsafe", |times| {
            let breaker = failsafe_in_a_row();
            twice(times, || _ = black_box(&breaker).call(|| Ok::<(), ()>(())));
        }),
        Case::new("evenkeel", |times| {
            let breaker = SharedBreaker::new();
            let now = early();
            twice(times, || succeed(black_box(&breaker), now, &POLICY));
        }),
        // What two threads cost each other on this machine though they have nothing in common.
        Case::new("evenkeel, each its own", |times| {
            on_threads(2, || {
                let breaker = SharedBreaker::new();
                let now = early();
                (0..times).for_each(|_| succeed(black_box(&breaker), now, &POLICY));
            });
        }),
        Case::new("evenkeel, one thread", |times| {
            let breaker = SharedBreaker::new();
            let now = early();
            on_threads(1, || {
                (0..times).for_each(|_| succeed(black_box(&breaker), now, &POLICY));
            });
        }),
    ];
    vec![Group { title: "closed, two threads", cases }]
}

/// Not read in each step: that would be most of it.
fn early() -> Instant {
    black_box(Instant::ZERO + Micros::from_micros(1))
}

fn twice(times: u64, step: impl Fn() + Sync) {
    on_threads(2, || (0..times).for_each(|_| step()));
}

fn on_threads(threads: u32, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
}
