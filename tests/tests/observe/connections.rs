//! Dials, connections and why they ended, as gRFC A94 counts them.

use core::time::Duration;
use std::collections::BTreeMap;

use evenkeel_tests::{Dial, Greeting, Network, Peer, RawClient, Reply};
use evenkeel_tonic::connect::{self, DialPolicy};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::{Factory, Kit, KitBuilder, Pool};

use crate::figures::{Figures, Read};
use crate::lab::{ECHO, counted, ok, pass};

const MADE: &str = "grpc.subchannel.connection_attempts_succeeded";
const FAILED: &str = "grpc.subchannel.connection_attempts_failed";
const OPEN: &str = "grpc.subchannel.open_connections";
const ENDED: &str = "grpc.subchannel.disconnections";

fn kit(figures: &Figures, net: &Network, names: &[&str]) -> KitBuilder {
    let targets = names.iter().map(|name| format!("{name}:1"));
    let pool = Pool::builder().insecure().connector(net.dialer()).targets(targets).unwrap();
    Kit::builder("orders").pool(pool).calls(counted(figures))
}

async fn call(kit: &Kit) -> bool {
    RawClient::of(ECHO, kit.channel()).unary("ping").await.is_ok()
}

/// What is counted of `orders`: made, failed, open, and ended by reason.
fn seen(read: &Read) -> (f64, f64, f64, Vec<(String, f64)>) {
    let target = [("grpc.target", "orders")];
    let of = |name| read.of(name, &target);
    let ended = read.values(ENDED, "grpc.disconnect_error").into_iter();
    let ended = ended.map(|why| {
        let count = read.of(ENDED, &[target[0], ("grpc.disconnect_error", &why)]);
        (why, count)
    });
    (of(MADE), of(FAILED), of(OPEN), ended.collect())
}

fn ended(why: &str, count: f64) -> Vec<(String, f64)> {
    vec![(why.to_owned(), count)]
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_counted_from_its_dial_to_its_end() {
    let (figures, net) = (Figures::new(), Network::new());
    for name in ["a", "b"] {
        Peer::new([ok()]).listen(&net, name);
    }
    let kit = kit(&figures, &net, &["a", "b"]).build().unwrap();
    assert_eq!(seen(&figures.read()), (0.0, 0.0, 0.0, Vec::new()));
    for _ in 0..4 {
        assert!(call(&kit).await);
    }
    assert_eq!(seen(&figures.read()), (2.0, 0.0, 2.0, Vec::new()));
    net.cut("a");
    pass(1).await;
    assert_eq!(seen(&figures.read()), (2.0, 0.0, 1.0, ended("connection reset", 1.0)));
    // Nobody calls, so the other one is closed, and no one is there any more.
    pass(301_000).await;
    let read = figures.read();
    assert_eq!(read.of(OPEN, &[]), 0.0);
    assert_eq!(read.of(ENDED, &[("grpc.disconnect_error", "subchannel shutdown")]), 1.0);
    // Not a label of methods or members: A94 has none.
    let series = &read.series(MADE)[0];
    let labels: BTreeMap<String, String> = [("grpc.target".to_owned(), "orders".to_owned())].into();
    assert_eq!(series.labels, labels);
}

#[tokio::test(start_paused = true)]
async fn each_dial_that_made_no_connection_is_a_failed_attempt() {
    let (figures, net) = (Figures::new(), Network::new());
    net.on_dial("a", [Dial::Refuse, Dial::Hang, Dial::Connect]);
    Peer::new([ok()]).listen(&net, "a");
    let kit = kit(&figures, &net, &["a"]).build().unwrap();
    assert!(!call(&kit).await);
    assert_eq!(seen(&figures.read()), (0.0, 1.0, 0.0, Vec::new()));
    // The pool dials again by itself, and gives that dial up after 20 s.
    pass(10_000).await;
    assert_eq!((net.dials("a").len(), seen(&figures.read()).1), (2, 1.0));
    pass(12_000).await;
    assert_eq!(seen(&figures.read()).1, 2.0);
    pass(30_000).await;
    assert!(call(&kit).await);
    assert_eq!(seen(&figures.read()), (1.0, 2.0, 1.0, Vec::new()));
    assert_eq!(net.dials("a").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_gives_no_reason_and_a_kit_that_closes_is_one() {
    let (figures, net) = (Figures::new(), Network::new());
    let hasty = Peer::new([ok()]).greeting([Greeting::CloseAfterPreface, Greeting::Serve]);
    hasty.listen(&net, "a");
    let kit = kit(&figures, &net, &["a"]).build().unwrap();
    assert!(!call(&kit).await);
    pass(1).await;
    assert_eq!(seen(&figures.read()), (1.0, 0.0, 0.0, ended("unknown", 1.0)));
    pass(2_000).await;
    assert!(call(&kit).await);
    assert!(kit.close(Duration::from_secs(1)).await);
    drop(kit);
    pass(10_000).await;
    let read = figures.read();
    assert_eq!((read.of(MADE, &[]), read.of(OPEN, &[])), (2.0, 0.0));
    assert_eq!(read.of(ENDED, &[("grpc.disconnect_error", "subchannel shutdown")]), 1.0);
}

/// A call that outlives the grace is cut off, by us.
#[tokio::test(start_paused = true)]
async fn a_connection_that_is_cut_at_the_end_of_the_grace_was_shut_down() {
    let (figures, net) = (Figures::new(), Network::new());
    Peer::new([Reply::hang()]).listen(&net, "a");
    let kit = kit(&figures, &net, &["a"]).build().unwrap();
    let mut client = RawClient::of(ECHO, kit.channel());
    let (answer, drained) = tokio::join!(client.unary("ping"), async {
        pass(10).await;
        kit.close(Duration::from_secs(1)).await
    });
    assert!(answer.is_err() && !drained);
    assert_eq!(seen(&figures.read()), (1.0, 0.0, 0.0, ended("subchannel shutdown", 1.0)));
}

/// Health is asked on connections of its own, which carry no calls.
#[tokio::test(start_paused = true)]
async fn the_connections_of_health_checks_are_not_counted() {
    let (figures, net) = (Figures::new(), Network::new());
    let rule = |seen: &evenkeel_tests::Seen| match &*seen.path {
        ECHO => ok(),
        _ => Reply::headers().message([8, 1].as_slice()),
    };
    Peer::answering(rule).listen(&net, "a");
    let kit = kit(&figures, &net, &["a"]).health(|checker| checker.mode(HealthMode::Watch));
    let kit = kit.build().unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(1)).await);
    assert!(call(&kit).await);
    assert_eq!(net.dials("a").len(), 2);
    assert_eq!(seen(&figures.read()), (1.0, 0.0, 1.0, Vec::new()));
}

/// A connection that two upstreams share is one.
#[tokio::test(start_paused = true)]
async fn a_shared_connection_is_counted_once() {
    let (figures, net) = (Figures::new(), Network::new());
    Peer::new([ok()]).listen(&net, "a");
    let pool = || Pool::builder().insecure().target("a:1").unwrap();
    let upstream = |name: &str| Kit::builder(name).pool(pool()).calls(counted(&figures));
    let factory = Factory::builder().connector(net.dialer());
    let factory = factory.upstream(upstream("orders")).upstream(upstream("billing"));
    let factory = factory.build().unwrap();
    for name in ["billing", "orders"] {
        assert!(call(factory.kit(name).unwrap()).await);
    }
    let read = figures.read();
    assert_eq!((read.of(MADE, &[]), read.of(OPEN, &[])), (1.0, 1.0));
    assert_eq!(seen(&read).0, 1.0, "for the first that was built with it");
}

/// A channel of one's own counts, too, if the client was told of its connection.
#[tokio::test(start_paused = true)]
async fn a_single_channel_with_connectivity_is_counted() {
    let (figures, net) = (Figures::new(), Network::new());
    Peer::new([ok()]).listen(&net, "a");
    let endpoint = net.endpoint("a");
    let target = endpoint.uri().clone();
    let (connector, connectivity) =
        connect::connector(net.dialer(), target, DialPolicy::DEFAULT, 1);
    let channel = endpoint.connect_with_connector_lazy(connector);
    let builder = counted(&figures).target("orders").connectivity(connectivity);
    let service = builder.build(channel).unwrap();
    RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap();
    assert_eq!(seen(&figures.read()), (1.0, 0.0, 1.0, Vec::new()));
    drop(service);
    pass(10_000).await;
    assert_eq!(seen(&figures.read()), (1.0, 0.0, 0.0, ended("subchannel shutdown", 1.0)));
}
