//! What an operator waits for: a kit that is ready, closed, or changes.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Dial, Network, Peer, RawClient, Reply, drop_at_every_poll, poll_n};
use evenkeel_tonic::connect::{DialPolicy, State, connector};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::pool::{Resolve, Resolving};
use evenkeel_tonic::{Factory, Kit, KitBuilder, Pool, Resilient};
use tonic::Status;

use crate::{Holding, settle, steps, tasks};

const ECHO: &str = "/lab.v1.Lab/Echo";

/// A server that is healthy, and answers.
fn well(watched: bool) -> Peer {
    Peer::answering(move |seen| match seen.path.rsplit('/').next() {
        Some("Watch") if watched => Reply::headers().message([8, 1].as_slice()),
        Some("Check") => Reply::ok([8, 1].as_slice()),
        Some("Echo") => Reply::ok("pong").after(Duration::from_millis(20)),
        _ => Reply::status(Status::unimplemented("what?")),
    })
}

fn described(net: &Network, mode: HealthMode) -> KitBuilder {
    let pool = Pool::builder().targets(["a:1", "b:1"]).unwrap();
    Kit::builder("lab")
        .pool(pool.insecure().connector(net.dialer()))
        .calls(Resilient::builder().methods(&METHODS))
        .health(move |checker| checker.mode(mode))
}

async fn answers(kit: &Kit) -> bool {
    RawClient::of(ECHO, kit.channel()).unary("ping").await.is_ok()
}

/// Servers that come late: who waits for them may go away at any time, and the next one finds them
/// as if nobody had waited before.
#[tokio::test(start_paused = true)]
async fn a_kit_waited_for_and_dropped_anywhere_holds_nothing() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        let net = Network::new();
        let kit = described(&net, mode).build().unwrap();
        let waiting = |net: &Network| net.dials("a").len();
        let mut alive = None;
        let dropped = async |polls: usize| {
            assert_eq!(kit.pool().in_flight(), 0);
            settle().await;
            // While there are no servers: its own tasks, and none of who waited.
            if polls <= 1 {
                let first = *alive.get_or_insert(tasks());
                assert!(tasks() <= first + 4, "{mode:?} after {polls} polls: {}", tasks());
            }
            if polls == 1 {
                for name in ["a", "b"] {
                    well(true).listen(&net, name);
                }
            }
        };
        let start = || kit.wait_until_ready(Duration::from_secs(600));
        assert!(drop_at_every_poll(start, dropped).await > 1);
        assert!(answers(&kit).await && waiting(&net) < 100);
        assert!(kit.close(Duration::from_secs(1)).await);
        drop(kit);
        settle().await;
        assert_eq!(net.connections("a") + net.connections("b"), 0);
    }
}

/// The same of a factory, which waits for all of them.
#[tokio::test(start_paused = true)]
async fn a_factory_waited_for_and_closed_may_be_dropped_anywhere() {
    let net = Network::new();
    for name in ["a", "b"] {
        well(true).listen(&net, name);
    }
    let one = |name: &str| {
        let pool = Pool::builder().target(format!("{name}:1")).unwrap().insecure();
        Kit::builder(name).pool(pool)
    };
    let factory = Factory::builder().connector(net.dialer()).upstream(one("a")).upstream(one("b"));
    let factory = factory.build().unwrap();
    let start = || factory.wait_until_ready(Duration::from_secs(60));
    assert!(drop_at_every_poll(start, async |_| settle().await).await > 1);
    let call = tokio::spawn({
        let kit = factory.kit("a").unwrap().clone();
        async move { answers(&kit).await }
    });
    tokio::time::sleep(Duration::from_millis(5)).await;
    let start = || factory.close(Duration::from_secs(60));
    let polls = drop_at_every_poll(start, async |polls| {
        let closed = ["a", "b"].map(|name| factory.kit(name).unwrap().pool().is_closed());
        assert_eq!(closed, [polls > 0; 2]);
    });
    assert!(polls.await > 1);
    assert!(call.await.unwrap(), "what was under way has its time");
}

/// Dropped before its first poll it has done nothing; after that it is closed, and closing it once
/// more finishes what is left.
#[tokio::test(start_paused = true)]
async fn a_kit_whose_close_is_dropped_anywhere_is_closed() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        for polls in 0..6 {
            let net = Network::new();
            for name in ["a", "b"] {
                well(true).listen(&net, name);
            }
            let kit = described(&net, mode).build().unwrap();
            assert!(kit.wait_until_ready(Duration::from_secs(1)).await);
            let call = tokio::spawn({
                let kit = kit.clone();
                async move { answers(&kit).await }
            });
            tokio::time::sleep(Duration::from_millis(5)).await;
            _ = poll_n(polls, kit.close(Duration::from_secs(60))).await;
            assert_eq!(kit.pool().is_closed(), polls > 0, "{mode:?} {polls}");
            assert!(call.await.unwrap(), "{mode:?} {polls}");
            assert!(kit.close(Duration::from_secs(60)).await, "{mode:?} {polls}");
            assert!(!kit.health().unwrap().is_running());
            drop(kit);
            settle().await;
            assert_eq!(net.connections("a") + net.connections("b"), 0, "{mode:?} {polls}");
        }
    }
}

/// A change that nobody has seen because who waited for it was dropped is there for the next one.
#[tokio::test(start_paused = true)]
async fn changes_dropped_anywhere_are_told_again() {
    let net = Network::new();
    net.on_dial("a", [Dial::ConnectAfter(Duration::from_millis(10))]);
    well(true).listen(&net, "a");
    let uri = net.endpoint("a").uri().clone();
    let (_connector, mut connectivity) = connector(net.dialer(), uri, DialPolicy::DEFAULT, 7);
    connectivity.dial();
    assert!(poll_n(0, connectivity.changed()).await.is_none());
    assert!(matches!(poll_n(9, connectivity.changed()).await, Some(State::Connecting)));
    assert!(poll_n(1, connectivity.changed()).await.is_none(), "and none is made up");
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(matches!(poll_n(1, connectivity.changed()).await, Some(State::Ready)));

    let kit = described(&net, HealthMode::Watch).build().unwrap();
    let mut changes = kit.health().unwrap().changes();
    for polls in [0, 1] {
        assert!(poll_n(polls, changes.changed()).await.is_none());
    }
    settle().await;
    assert!(poll_n(1, changes.changed()).await.is_some());
}

/// A resolver that is asked for as long as somebody wants to know.
struct Slow(Arc<()>);

impl Resolve for Slow {
    fn resolve(&self, _: &str, _: u16) -> Resolving {
        Box::pin(Holding::new(&self.0, async {
            steps(()).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            Err(io::Error::from(io::ErrorKind::NotFound))
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn a_lookup_dropped_anywhere_stops_the_resolver() {
    for millis in [0, 1, 5, 6, 1_000, 5_004, 5_006] {
        let held = Arc::new(());
        let pool = Pool::builder().target("dns:///lab:1").unwrap().insecure();
        let pool = pool.resolver(Slow(Arc::clone(&held)));
        let kit = Kit::builder("lab").pool(pool).build().unwrap();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        drop(kit);
        settle().await;
        assert_eq!(Arc::strong_count(&held), 1, "after {millis} ms");
    }
}
