//! A delay that follows the method's own latency.

use core::time::Duration;

use evenkeel_tests::{Peer, Reply, Seen};
use evenkeel_tonic::{HedgeDelay, HedgePolicy};

use crate::lab::{ECHO, Lab, client, is_hedge, millis, ok};

const P90: HedgeDelay = HedgeDelay::Quantile {
    thousandths: 900,
    min: Duration::from_millis(1),
    max: Duration::from_millis(1_000),
    until_known: Duration::from_millis(200),
};

fn measuring(rule: impl FnMut(&Seen) -> Reply + Send + 'static) -> Lab {
    let policy = HedgePolicy::DEFAULT.with_delay(P90).unwrap();
    Lab::of(client().hedge(policy), Peer::answering(rule))
}

#[tokio::test(start_paused = true)]
async fn hedges_wait_for_what_is_usual() {
    let mut calls = 0;
    let lab = measuring(move |seen| {
        calls += u32::from(!is_hedge(seen));
        match calls {
            1 | 102 if !is_hedge(seen) => Reply::hang(),
            1 | 102 => ok(),
            _ => ok().after(millis(10)),
        }
    });
    assert_eq!(lab.unary(ECHO).await.1, 200, "nothing is known yet");
    for _ in 0..100 {
        assert_eq!(lab.unary(ECHO).await.1, 10);
    }
    // The end of the bucket that 10 ms are in, on the timer's next millisecond.
    assert_eq!(lab.unary(ECHO).await.1, 11);
}

/// Attempts that lose count too, or the delay would shrink, hedge more, and shrink again.
#[tokio::test(start_paused = true)]
async fn the_share_that_is_hedged_stays_the_share_that_was_asked_for() {
    let mut calls = 0u64;
    let lab = measuring(move |seen| {
        calls += u64::from(!is_hedge(seen));
        // From 10 to 30 ms, all as often, and one call in twenty for ever.
        match calls.wrapping_mul(7_919) % 20 {
            0 if !is_hedge(seen) => Reply::hang(),
            span => ok().after(millis(10 + span)),
        }
    });
    for _ in 0..500 {
        lab.unary(ECHO).await.0.unwrap();
    }
    let before = lab.peer.count();
    for _ in 0..1_000 {
        lab.unary(ECHO).await.0.unwrap();
    }
    let hedges = lab.peer.count() - before - 1_000;
    assert!((50..=100).contains(&hedges), "{hedges} of 1000");
}
