//! This file knows the next delay, jittered, with the random number given.

use core::hint::black_box;
use core::time::Duration;

use evenkeel_core::rng::Always;
use evenkeel_core::{Backoff, Growth, Jitter, checked};
use rusty_rtos_backoff as rtos;

use crate::case::{Case, Group};

pub(crate) fn groups() -> Vec<Group> {
    let cases = vec![
        Case::new("rusty_rtos_backoff, 16 bits of ms", |times| {
            let mut context = rtos::Backoff::new(100, 10_000, rtos::RETRY_FOREVER);
            for random in 0..times {
                _ = black_box(context.next_backoff(black_box(random as u32)));
            }
        }),
        Case::new("evenkeel, full jitter", |times| delays(times, &FULL)),
        Case::new("evenkeel, proportional jitter", |times| delays(times, &PROPORTIONAL)),
        Case::new("evenkeel, read from settings", |times| delays(times, black_box(&FULL))),
    ];
    vec![Group { title: "the next delay", cases }]
}

/// Inlined, so that each policy is the constant that the contestant's settings are as well.
#[inline(always)]
fn delays(times: u64, backoff: &Backoff) {
    let mut growth = Growth::START;
    for random in 0..times {
        black_box(backoff.next_delay(&mut growth, &mut Always(black_box(random as u32))));
    }
}

static FULL: Backoff = checked!(
    checked!(Backoff::new(Duration::from_millis(100), Duration::from_secs(10)))
        .with_jitter(Jitter::Full)
);
static PROPORTIONAL: Backoff = Backoff::DEFAULT;
