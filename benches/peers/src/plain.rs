//! This file knows breakers whose state belongs to the caller.

use core::hint::black_box;

use evenkeel_core::{BreakerPolicy, CircuitBreaker, Clock, Deadline, Instant, Micros, Verdict};
use evenkeel_std::StdClock;

use crate::case::{Case, Group};

pub(crate) fn groups() -> Vec<Group> {
    let closed = vec![
        Case::new("reliakit, without permits", |times| {
            let mut breaker = reliakit_circuit::CircuitBreaker::new(5, 60_000_000);
            for now in 0..times {
                let breaker = black_box(&mut breaker);
                if breaker.allow(black_box(now)) {
                    breaker.on_success();
                }
            }
        }),
        Case::new("evenkeel", |times| {
            let mut breaker = CircuitBreaker::new();
            for time in 0..times {
                let breaker = black_box(&mut breaker);
                let now = black_box(Instant::ZERO + Micros::from_micros(time));
                if let Ok(permit) = breaker.admit(now, Deadline::NONE, &POLICY) {
                    breaker.record(now, permit, Verdict::Success, &POLICY);
                }
            }
        }),
    ];
    let open = vec![
        Case::new("one reading of the clock", |times| {
            for _ in 0..times {
                black_box(StdClock.now());
            }
        }),
        Case::new("reliakit", |times| {
            let mut breaker = reliakit_circuit::CircuitBreaker::new(5, u64::MAX);
            breaker.trip(0);
            for _ in 0..times {
                black_box(breaker.allow(StdClock.now().as_micros()));
            }
        }),
        Case::new("evenkeel", |times| {
            let mut breaker = CircuitBreaker::new();
            breaker.force_open();
            for _ in 0..times {
                _ = black_box(breaker.admit(StdClock.now(), Deadline::NONE, &POLICY));
            }
        }),
    ];
    vec![
        Group { title: "closed, state of the caller", cases: closed },
        Group { title: "open, state of the caller", cases: open },
    ]
}

static POLICY: BreakerPolicy = BreakerPolicy::DEFAULT;
