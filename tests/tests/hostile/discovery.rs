//! A discovery that names ever new members.

use core::time::Duration;

use evenkeel_tests::{Network, Peer, RawClient, Reply};
use evenkeel_tonic::Kit;
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::target::TargetName;

use crate::memory::{MIB, alone, at_most, in_use};
use crate::{ECHO, guarded, pong, pool_of};

/// Fifteen hundred lists of three members each, none of which was there before, but for one: what is
/// gone takes its connections, probes, breakers and names with it.
#[tokio::test(start_paused = true)]
async fn members_that_are_never_the_same() {
    let _alone = alone().await;
    let net = Network::new();
    let well = || Reply::ok([8, 1].as_slice());
    let peer = Peer::answering(move |seen| if seen.path == ECHO { pong() } else { well() });
    let peer = peer.listen(&net, "a");
    let kit = Kit::builder("lab")
        .pool(pool_of(&net, &["a"]))
        .calls(guarded())
        .health(|checker| checker.mode(HealthMode::Check))
        .build()
        .unwrap();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (mut before, mut running) = (0, 0);
    for turn in 0..1_500 {
        let names = [format!("m{turn}:1"), format!("n{turn}:1"), "a:1".to_owned()];
        let names = names.iter().map(|name| name.parse::<TargetName>().unwrap());
        kit.pool().set_targets(names);
        tokio::task::yield_now().await;
        if turn % 100 == 0 {
            let mut client = RawClient::of(ECHO, kit.channel());
            _ = client.unary("ping").await;
            // Time for what is gone to go.
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
        if turn == 500 {
            (before, running) = (in_use(), tasks());
        }
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(kit.members().len(), 3);
    assert!(tasks() <= running, "{} tasks, and {running} before", tasks());
    assert!(peer.connections() <= 2, "{}", peer.connections());
    // The network of the test writes each dial down.
    at_most(4 * MIB, before);
    assert!(kit.close(Duration::from_secs(1)).await);
}
