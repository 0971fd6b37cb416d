//! A server whose health changes as fast as the line lets it.

use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::time::Duration;
use std::rc::Rc;

use evenkeel_tests::{Network, Peer, RawClient, Reply};
use evenkeel_tonic::Kit;
use evenkeel_tonic::health::HealthMode;

use crate::memory::{MIB, alone, at_most, in_use};
use crate::{ECHO, guarded, pong, pool_of};

const FLAPS: usize = 3_000;

/// SERVING, NOT_SERVING, and so on, as one block of bytes; then silence.
fn flapping() -> Reply {
    let words = (0..FLAPS).map(|turn| vec![8, 1 + (turn % 2) as u8]);
    words.fold(Reply::headers(), Reply::message)
}

/// Callers that wait for a member are not woken for each change that is over before they look; the
/// thread is given to others in between; and nothing of it is kept.
#[tokio::test(start_paused = true)]
async fn health_that_flaps_at_line_rate() {
    let _alone = alone().await;
    let net = Network::new();
    let peer =
        Peer::answering(|seen| if seen.path.ends_with("Watch") { flapping() } else { pong() });
    peer.clone().listen(&net, "a");
    let kit = Kit::builder("lab")
        .pool(pool_of(&net, &["a"]))
        .calls(guarded().wait_for_ready(true))
        .health(|checker| checker.mode(HealthMode::Watch))
        .build()
        .unwrap();
    // Another task on the same thread: how often does it have its turn?
    let turns = Rc::new(Cell::new(0_usize));
    let counted = Rc::clone(&turns);
    let local = tokio::task::LocalSet::new();
    local.spawn_local(async move {
        loop {
            counted.set(counted.get() + 1);
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let before = in_use();
    local
        .run_until(async {
            // Asked for and answered or not, in the middle of it: each call ends.
            for _ in 0..20 {
                let mut client = RawClient::of(ECHO, kit.channel());
                let call = client.unary("ping");
                _ = tokio::time::timeout(Duration::from_secs(1), call).await;
            }
        })
        .await;
    assert!(turns.get() > 0, "nobody else had a turn");
    // The peer has the reply, and the pipe what was not read yet.
    at_most(16 * MIB, before);
    assert!(kit.close(Duration::from_secs(1)).await);
}

/// A caller that waits for health, beside a server that flaps: what wakes it is bounded by what it
/// could see.
#[tokio::test(start_paused = true)]
async fn a_waiter_is_not_polled_for_each_flap() {
    let _alone = alone().await;
    let net = Network::new();
    Peer::new([flapping()]).listen(&net, "a");
    let kit = Kit::builder("lab")
        .pool(pool_of(&net, &["a", "b"]))
        .calls(guarded())
        .health(|checker| checker.mode(HealthMode::Watch))
        .build()
        .unwrap();
    let mut polls = 0_usize;
    // `b` never has a verdict, so this waits for all of it.
    let mut ready = pin!(kit.wait_until_ready(Duration::from_secs(30)));
    let ready = poll_fn(|cx| {
        polls += 1;
        ready.as_mut().poll(cx)
    });
    _ = ready.await;
    assert!(polls < FLAPS / 10, "{polls}");
}
