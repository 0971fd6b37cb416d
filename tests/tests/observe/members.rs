//! A kit tells under its own name, and its attempts say which member they went to.

use core::time::Duration;
use std::collections::BTreeSet;

use evenkeel_tests::{Network, Peer, RawClient};
use evenkeel_tonic::{Kit, Pool};

use crate::figures::Figures;
use crate::lab::{ECHO, busy, counted, ok, opens_after, retries};
use crate::tracer::Tracer;

#[tokio::test(start_paused = true)]
async fn a_kit_is_one_target_and_its_members_are_where_attempts_go() {
    let (figures, tracer, net) = (Figures::new(), Tracer::begin(), Network::new());
    for (name, reply) in [("a", busy()), ("b", ok())] {
        Peer::new([reply]).listen(&net, name);
    }
    let pool = Pool::builder().insecure().connector(net.dialer()).targets(["a:1", "b:1"]).unwrap();
    let calls = counted(&figures).spans().retry(retries(2, 10)).breaker(opens_after(9));
    let kit = Kit::builder("orders").pool(pool).calls(calls).build().unwrap();
    for _ in 0..4 {
        RawClient::of(ECHO, kit.channel()).unary("ping").await.unwrap();
    }
    let read = figures.read();
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let orders: BTreeSet<String> = named(&["orders"]);
    for (name, _) in read.instruments().filter(|(name, _)| !name.starts_with("rpc")) {
        assert_eq!(read.values(name, "grpc.target"), orders, "{name}");
    }
    let members: BTreeSet<String> = named(&["a:1", "b:1"]);
    assert_eq!(read.values("resilience.breaker.state", "member"), members);
    let attempts = tracer.spans("attempt");
    let went: BTreeSet<String> =
        attempts.iter().map(|attempt| attempt.field("target").unwrap().to_owned()).collect();
    assert_eq!(went, members);
    let call = &tracer.spans("call")[0];
    assert_eq!(call.field("server.address"), Some("orders"), "one name for all members");
    assert!(kit.close(Duration::from_secs(1)).await);
    assert_eq!(figures.read().of("resilience.calls.active", &[]), 0.0);
}
