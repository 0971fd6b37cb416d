//! A thousand callers at once.

use evenkeel_tests::{RawClient, Reply, Seen};
use evenkeel_tonic::core::{Random, SmallRng};
use tokio::task::JoinSet;

use crate::lab::{ECHO, busy, hedging, is_hedge, millis, ok, opens_after, pass, pool};

const CALLS: usize = 1_000;

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_are_answered_once_each_and_nothing_is_left_over() {
    // One first attempt in eight hangs, one fails, the others are slow or fast; hedges are fast.
    let mut rng = SmallRng::seeded(7);
    let moody = move |seen: &Seen| {
        let chance = rng.next_u32();
        match chance % 8 {
            _ if is_hedge(seen) => ok(),
            0 => Reply::hang(),
            1 => busy(),
            _ => ok().after(millis(u64::from(chance >> 8) % 40)),
        }
    };
    let builder = hedging(20, 5).breaker(opens_after(u16::MAX));
    let (service, peers, _net) = pool(builder, &["a", "b", "c"], moody);
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let mut client = RawClient::of(ECHO, service.clone());
        calls.spawn(async move {
            let call = client.unary("ping");
            // Every tenth caller has no patience.
            let patience = if number % 10 == 0 { millis(10) } else { millis(5_000) };
            tokio::time::timeout(patience, call).await
        });
    }
    let (mut answered, mut gone) = (0, 0);
    while let Some(ended) = calls.join_next().await {
        match ended.unwrap() {
            Ok(answer) => answered += usize::from(answer.unwrap().into_inner() == "pong"),
            Err(_) => gone += 1,
        }
    }
    assert_eq!(answered + gone, CALLS);
    assert!(gone > 0 && gone <= CALLS / 10, "{gone}");
    pass(100).await;

    let requests: Vec<Seen> = peers.iter().flat_map(|peer| peer.requests()).collect();
    let hedges = requests.iter().filter(|seen| is_hedge(seen)).count();
    assert!(hedges > 0 && requests.len() == CALLS + hedges, "{hedges} of {}", requests.len());
    let states = service.circuit_breaker_states();
    assert!(states.values().all(|methods| methods[ECHO].trials == 0));
    assert_eq!(service.pool().unwrap().in_flight(), 0);
}
