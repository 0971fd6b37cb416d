//! This file knows breakers that threads share, used by one.

use core::hint::black_box;
use core::time::Duration;

use evenkeel_core::{BreakerPolicy, Clock, Deadline, Instant, Micros, TimeWindow, Verdict};
use evenkeel_std::{SharedBreaker, StdClock};
use failsafe::failure_policy::ConsecutiveFailures;
use failsafe::{CircuitBreaker as _, StateMachine, backoff, failure_policy};
use recloser::Recloser;

use crate::case::{Case, Group};

pub(crate) fn groups() -> Vec<Group> {
    vec![
        Group { title: "closed, shared", cases: closed() },
        Group { title: "closed, shared, share over time", cases: window() },
        Group { title: "open, shared", cases: open() },
    ]
}

fn closed() -> Vec<Case> {
    vec![
        Case::new("recloser, last 100 calls", |times| {
            let breaker = Recloser::custom().build();
            for _ in 0..times {
                _ = black_box(&breaker).call(|| Ok::<(), ()>(()));
            }
        }),
        Case::new("failsafe, in a row", |times| {
            let breaker = failsafe_in_a_row();
            for _ in 0..times {
                _ = black_box(&breaker).call(|| Ok::<(), ()>(()));
            }
        }),
        Case::new("evenkeel, in a row", |times| {
            let breaker = SharedBreaker::new();
            for time in 0..times {
                let now = black_box(Instant::ZERO + Micros::from_micros(time));
                succeed(black_box(&breaker), now, &POLICY);
            }
        }),
    ]
}

fn window() -> Vec<Case> {
    vec![
        Case::new("failsafe, moving average", |times| {
            let waits = backoff::constant(MINUTE);
            let rule = failure_policy::success_rate_over_time_window(0.5, 20, 10 * SECOND, waits);
            let breaker = failsafe::Config::new().failure_policy(rule).build();
            for _ in 0..times {
                _ = black_box(&breaker).call(|| Ok::<(), ()>(()));
            }
        }),
        Case::new("evenkeel, ten buckets", |times| {
            let breaker = SharedBreaker::closed();
            for _ in 0..times {
                succeed(black_box(&breaker), StdClock.now(), &WINDOW);
            }
        }),
    ]
}

fn open() -> Vec<Case> {
    vec![
        Case::new("one reading of the clock", |times| {
            for _ in 0..times {
                black_box(StdClock.now());
            }
        }),
        Case::new("recloser", |times| {
            let breaker = Recloser::custom().closed_len(1).open_wait(MINUTE).build();
            while !matches!(breaker.call(|| Err::<(), ()>(())), Err(recloser::Error::Rejected)) {}
            for _ in 0..times {
                _ = black_box(&breaker).call(|| Ok::<(), ()>(()));
            }
        }),
        Case::new("failsafe", |times| {
            let breaker = failsafe_in_a_row();
            for _ in 0..10 {
                _ = breaker.call(|| Err::<(), ()>(()));
            }
            for _ in 0..times {
                _ = black_box(&breaker).call(|| Ok::<(), ()>(()));
            }
        }),
        Case::new("evenkeel", |times| {
            let breaker = SharedBreaker::new();
            breaker.force_open();
            for _ in 0..times {
                _ = black_box(&breaker).admit(StdClock.now(), Deadline::NONE, &POLICY);
            }
        }),
    ]
}

/// One call that is let out and succeeds.
pub(crate) fn succeed<T: evenkeel_core::Trip>(
    breaker: &SharedBreaker<T>,
    now: Instant,
    policy: &BreakerPolicy<T>,
) {
    if let Ok(permit) = breaker.admit(now, Deadline::NONE, policy) {
        breaker.record(now, permit, Verdict::Success, policy);
    }
}

pub(crate) type InARow = StateMachine<ConsecutiveFailures<backoff::Constant>, ()>;

pub(crate) fn failsafe_in_a_row() -> InARow {
    let rule = failure_policy::consecutive_failures(5, backoff::constant(MINUTE));
    failsafe::Config::new().failure_policy(rule).build()
}

pub(crate) static POLICY: BreakerPolicy = BreakerPolicy::DEFAULT;
static WINDOW: BreakerPolicy<TimeWindow> = BreakerPolicy::new(TimeWindow::DEFAULT);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
