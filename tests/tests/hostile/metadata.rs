//! Answers whose headers and trailers are as large as they can be, or have no end.

use core::time::Duration;

use evenkeel_core::{BreakerPolicy, Consecutive};
use evenkeel_tests::{Network, Peer, RawClient, Reply, drain};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::{Builder, Kit};
use tonic::{Code, Status};

use crate::memory::{KIB, MIB, alone, asked_for, at_most, in_use};
use crate::{ECHO, EXPORT, guarded};

/// Trailers that go on and on, behind a message that is whole: what is held of the answer is what
/// was read before, and the call ends.
#[tokio::test(start_paused = true)]
async fn trailers_that_never_end() {
    let _alone = alone().await;
    let net = Network::new();
    let peer = Peer::new([Reply::headers().message("pong").flood(16)]).listen(&net, "a");
    let service = guarded().build(net.channel("a")).unwrap();
    let mut before = 0;
    for turn in 0..12 {
        let mut client = RawClient::of(ECHO, service.clone());
        let failed = client.unary("ping").await.unwrap_err();
        assert_ne!(failed.code(), Code::Ok);
        let mut client = RawClient::of(EXPORT, service.clone());
        // Refused by its breaker later on, which is an answer too.
        if let Ok(stream) = client.server_streaming("all").await {
            assert!(drain(stream.into_inner()).await.1.is_some());
        }
        tokio::time::sleep(Duration::from_secs(120)).await;
        if turn == 4 {
            before = in_use();
        }
    }
    assert!(peer.count() > 12);
    // The peer writes its requests down: a little for each.
    at_most(512 * KIB, before);
}

/// A status whose message is as long as it may be is an answer like any other, and no more is kept
/// of it than of a short one: by the breaker, by the pool, by whoever remembers the last failure.
#[tokio::test(start_paused = true)]
async fn messages_as_long_as_they_may_be_are_not_kept() {
    let _alone = alone().await;
    let net = Network::new();
    let names: Vec<String> = (0..50).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in &names {
        Peer::new([Reply::status(Status::unavailable("z".repeat(8 * KIB)))]).listen(&net, name);
    }
    let service = guarded().build_pool(crate::pool_of(&net, &names)).unwrap();
    let call = async || {
        let mut client = RawClient::of(ECHO, service.clone());
        assert_eq!(client.unary("ping").await.unwrap_err().code(), Code::Unavailable);
    };
    // A connection to each costs more than what this is about.
    for _ in 0..100 {
        call().await;
    }
    let before = in_use();
    for _ in 0..100 {
        call().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    at_most(MIB, before);
}

/// Blocks at the limit of 16 KiB that a client says it accepts, and over it: as they are, and as
/// indices of a byte or two each that would be 2 MiB. What is within it is an answer; what is
/// not ends the call, and neither is asked for nor kept. (Of trailers that are a little too long
/// `h2` passes on what came first, which is the status.)
#[tokio::test(start_paused = true)]
async fn blocks_at_the_limit_and_over_it() {
    let _alone = alone().await;
    let within = "m".repeat(15 * KIB);
    let over = "m".repeat(17 * KIB);
    let bomb = "m".repeat(2 * KIB);
    let blocks = [(&within, 1, true, true), (&over, 1, false, true), (&bomb, 1_000, false, false)];
    for (value, times, in_headers, in_trailers) in blocks {
        let answered = || Reply::headers().message("pong").end(Status::ok(""));
        block(answered().headers_times("x-m", value, times), in_headers).await;
        block(answered().trailers_times("x-m", value, times), in_trailers).await;
        let failed = Reply::status(Status::unavailable("busy"));
        block(failed.trailers_times("x-m", value, times), false).await;
    }
}

/// Calls a server that gives `reply`, and nothing else, some times in two ways.
async fn block(reply: Reply, is_answer: bool) {
    let net = Network::new();
    let peer = Peer::answering(move |_| reply.clone()).listen(&net, "a");
    let service = lasting().build(net.channel("a")).unwrap();
    let (mut before, mut asked) = (0, 0);
    for turn in 0..12 {
        if turn == 4 {
            (before, asked) = (in_use(), asked_for().0);
        }
        let mut client = RawClient::of(ECHO, service.clone());
        assert_eq!(client.unary("ping").await.is_ok(), is_answer, "{turn}");
        let mut client = RawClient::of(EXPORT, service.clone());
        let whole = match client.server_streaming("all").await {
            Ok(stream) => drain(stream.into_inner()).await.1.is_none(),
            Err(_) => false,
        };
        assert_eq!(whole, is_answer, "{turn}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(peer.count() >= 24);
    // The peer writes its requests down, a little for each.
    at_most(512 * KIB, before);
    let each = (asked_for().0 - asked) / 16;
    // Of all attempts, and most of it the peer's, who writes each block several times. Read in full,
    // the largest would be 4 MiB more for the two attempts of a call.
    assert!(each < 3 * MIB, "{} KiB for a call", each / KIB);
}

/// The same of a server that is only asked for its health: it is not well, and that is all.
#[tokio::test(start_paused = true)]
async fn health_in_blocks_over_the_limit() {
    let _alone = alone().await;
    let net = Network::new();
    let value = "m".repeat(2 * KIB);
    let reply = move || Reply::ok([8, 1].as_slice()).trailers_times("x-m", &value, 100);
    let peer = Peer::answering(move |_| reply()).listen(&net, "a");
    let kit = Kit::builder("lab")
        .pool(crate::pool_of(&net, &["a"]))
        .calls(guarded())
        .health(|checker| checker.mode(HealthMode::Check))
        .build()
        .unwrap();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let before = in_use();
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    assert!(peer.count() > 40, "{}", peer.count());
    at_most(MIB, before);
    assert!(kit.close(Duration::from_secs(1)).await);
}

/// Like `guarded`, with a breaker that lets everything through.
fn lasting() -> Builder {
    guarded().breaker(BreakerPolicy::new(Consecutive::new(10_000).unwrap()))
}
