//! This file knows two schedules that are standards (V22, V23).

use evenkeel_core::rng::Always;
use evenkeel_core::{Backoff, Growth};

use super::{Machines, Row};
use crate::presets::{coap, dhcp4};

/// The worst case, to the millisecond: the core keeps a share as a fraction of 2^16, rounded down.
pub(super) fn coap(_: &Machines) -> Vec<Row> {
    let millis = |waits: usize| {
        let (backoff, mut growth) = (coap::waits(), Growth::START);
        let sum: u64 = (0..waits)
            .map(|_| backoff.next_delay(&mut growth, &mut Always(u32::MAX)).as_micros())
            .sum();
        (sum + 500) / 1_000
    };
    vec![
        Row::exactly("MAX_TRANSMIT_SPAN, ms".into(), &45_000, &millis(4)),
        Row::exactly("MAX_TRANSMIT_WAIT, ms".into(), &93_000, &millis(5)),
    ]
}

pub(super) fn dhcp(_: &Machines) -> Vec<Row> {
    let mut growth = Growth::START;
    let waits: Backoff = dhcp4::waits();
    let seconds: Vec<u64> = (0..6)
        .map(|_| waits.next_delay(&mut growth, &mut Always(u32::MAX)).as_micros() / 1_000_000)
        .collect();
    let mut growth = Growth::START;
    let mut chance = crate::Chance::seeded(23);
    let within = (0..60_000).all(|n| {
        if n % 6 == 0 {
            growth = Growth::START;
        }
        let plain = seconds[n % 6] as i64 * 1_000_000;
        let drawn = dhcp4::next_wait(&mut growth, &mut chance).as_micros() as i64;
        (drawn - plain).abs() <= 1_000_000
    });
    let known = vec![4, 8, 16, 32, 64, 64];
    vec![
        Row::exactly("s between messages".into(), &known, &seconds),
        Row::exactly("each drawn within ±1 s".into(), &true, &within),
    ]
}
