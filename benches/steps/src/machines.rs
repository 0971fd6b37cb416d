//! This file knows which steps of the core's machines are measured by themselves.

use core::convert::Infallible;
use core::hint::black_box;

use evenkeel_core::rng::Always;
use evenkeel_core::{
    Action, Backoff, BreakerPolicy, Call, CallPolicy, CircuitBreaker, Deadline, Growth, Instant,
    Jitter, Micros, Outcome, Single, SmallRng, TimeWindow, Verdict, checked,
};
use evenkeel_std::{Shared, SharedBreaker};
use evenkeel_tokio::call_within;

use tokio::runtime::Builder;

use crate::case::{Case, Group};

pub(crate) fn group() -> Group {
    let cases = vec![
        Case::new("an empty loop", |times| {
            for time in 0..times {
                black_box(time);
            }
        }),
        Case::new("backoff: one delay", backoff),
        Case::new("backoff: the random number given", given),
        Case::new("breaker, closed: admit, record", closed),
        Case::new("breaker, open: admit", open),
        Case::new("breaker of threads, closed", closed_for_threads),
        Case::new("breaker of threads, open", open_for_threads),
        Case::new("breaker of threads, share over time", window_for_threads),
        Case::new("call: new, poll, complete", call),
        Case::new("the same with a breaker", guarded_call),
        Case::new("a call under tokio", call_under_tokio),
    ];
    Group { title: "a step of the machines", cases }
}

fn backoff(times: u64) {
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
    for _ in 0..times {
        black_box(BACKOFF.next_delay(&mut growth, &mut rng));
    }
}

fn given(times: u64) {
    let mut growth = Growth::START;
    for random in 0..times {
        black_box(FULL.next_delay(&mut growth, &mut Always(black_box(random as u32))));
    }
}

fn closed(times: u64) {
    let mut breaker = CircuitBreaker::new();
    for now in instants(times) {
        let Ok(permit) = breaker.admit(now, Deadline::NONE, &BREAKER) else { continue };
        breaker.record(now, permit, black_box(Verdict::Success), &BREAKER);
    }
}

fn open(times: u64) {
    let mut breaker = CircuitBreaker::new();
    breaker.force_open();
    for now in instants(times) {
        _ = black_box(breaker.admit(now, Deadline::NONE, &BREAKER));
    }
}

fn closed_for_threads(times: u64) {
    let breaker = SharedBreaker::new();
    for now in instants(times) {
        let Ok(permit) = breaker.admit(now, Deadline::NONE, &BREAKER) else { continue };
        breaker.record(now, permit, black_box(Verdict::Success), &BREAKER);
    }
}

fn open_for_threads(times: u64) {
    let breaker = SharedBreaker::new();
    breaker.force_open();
    for now in instants(times) {
        _ = black_box(breaker.admit(now, Deadline::NONE, &BREAKER));
    }
}

fn window_for_threads(times: u64) {
    let breaker = SharedBreaker::closed();
    for now in instants(times) {
        let Ok(permit) = breaker.admit(now, Deadline::NONE, &WINDOW) else { continue };
        breaker.record(now, permit, black_box(Verdict::Success), &WINDOW);
    }
}

fn call(times: u64) {
    for now in instants(times) {
        one_call(now, &mut Single::new(&POLICY));
    }
}

fn guarded_call(times: u64) {
    let mut breaker = CircuitBreaker::new();
    for now in instants(times) {
        one_call(now, &mut Single::new(&POLICY).with_breaker(&mut breaker, &BREAKER));
    }
}

fn one_call(now: Instant, upstream: &mut Single<'_>) {
    let mut call: Call = Call::new(POLICY.deadline(now, Deadline::NONE), 7);
    if let Action::Attempt(attempt) = call.poll(now, upstream) {
        black_box(call.complete(now, upstream, attempt, Outcome::success()));
    }
}

/// With a timeout, retries and a breaker, around nothing.
fn call_under_tokio(times: u64) {
    let shared = Shared::new(CallPolicy::DEFAULT).with_breaker(BreakerPolicy::DEFAULT);
    let judge = |_: &Result<(), Infallible>| Outcome::success();
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime without I/O needs nothing").block_on(async {
        for _ in 0..times {
            let call = call_within(shared.view(), Deadline::NONE, judge, async |_| Ok(()));
            _ = black_box(call.await);
        }
    });
}

/// One instant for each time, a microsecond apart; the compiler knows none of them.
fn instants(times: u64) -> impl Iterator<Item = Instant> {
    (0..times).map(|time| black_box(Instant::ZERO + Micros::from_micros(time)))
}

static BACKOFF: Backoff = Backoff::DEFAULT;
static FULL: Backoff = checked!(Backoff::DEFAULT.with_jitter(Jitter::Full));
static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
static WINDOW: BreakerPolicy<TimeWindow> = BreakerPolicy::new(TimeWindow::DEFAULT);
static POLICY: CallPolicy = CallPolicy::DEFAULT;
