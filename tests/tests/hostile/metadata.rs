//! Answers whose headers and trailers are as large as they can be, or have no end.

use core::time::Duration;

use evenkeel_tests::{Network, Peer, RawClient, Reply, drain};
use tonic::{Code, Status};

use crate::memory::{KIB, MIB, alone, at_most, in_use};
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
