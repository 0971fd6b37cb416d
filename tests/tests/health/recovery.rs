//! A member that is found healthy again, while the pool is still in the pause after its last dial.

use core::time::Duration;

use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen};
use evenkeel_tonic::core::HealthPolicy;
use evenkeel_tonic::{Builder, Kit, Pool, PoolBuilder, Resilient};
use tonic::Code;
use tonic::transport::Channel;

use crate::lab::pass;

const ECHO: &str = "/lab.v1.Lab/Echo";

/// Health answers on the wire: field 1, a varint.
const SERVING: &[u8] = &[8, 1];

fn calls() -> Builder {
    Resilient::builder().methods(&METHODS).timeout(Duration::from_secs(10)).unwrap()
}

fn pool(net: &Network) -> PoolBuilder {
    Pool::builder().insecure().connector(net.dialer()).target("a:1").unwrap()
}

/// From now on there is a server, which says that it is well.
fn serve(net: &Network) -> Peer {
    let answers = |seen: &Seen| match &*seen.path {
        ECHO => Reply::ok("there"),
        _ => Reply::ok(SERVING),
    };
    Peer::answering(answers).listen(net, "a")
}

fn kill(net: &Network) {
    drop(net.listen("a"));
    net.cut("a");
}

async fn call(service: &Resilient<Channel>) -> Result<(), Code> {
    let mut client = RawClient::of(ECHO, service.clone());
    client.unary("ping").await.map(|_| ()).map_err(|failed| failed.code())
}

/// Calls all the time, so that the pauses between dials grow.
async fn call_in_vain(service: &Resilient<Channel>, seconds: u64) {
    for _ in 0..seconds * 10 {
        assert_eq!(call(service).await, Err(Code::Unavailable));
        pass(100).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_is_called_as_soon_as_somebody_says_that_it_is_well() {
    let net = Network::new();
    let service = calls().build_pool(pool(&net).health_checked()).unwrap();
    let pool = service.pool().unwrap();
    pool.set_healthy("a:1", true);
    call_in_vain(&service, 60).await;
    let peer = serve(&net);
    assert_eq!(call(&service).await, Err(Code::Unavailable), "in the pause");
    pool.set_healthy("a:1", true);
    assert_eq!(call(&service).await, Err(Code::Unavailable), "that is no news");
    pool.set_healthy("a:1", false);
    pool.set_healthy("a:1", true);
    assert_eq!((call(&service).await, peer.count()), (Ok(()), 1));
}

#[tokio::test(start_paused = true)]
async fn a_member_is_called_as_soon_as_a_check_has_found_it_well() {
    let (net, second) = (Network::new(), Duration::from_secs(1));
    let policy = HealthPolicy::DEFAULT.with_interval(second).unwrap();
    // It takes twenty failed checks to be unhealthy: longer than the pauses are by then.
    let policy = policy.with_max_backoff(second).unwrap().with_counts(1, 20).unwrap();
    let kit = Kit::builder("lab").pool(pool(&net)).calls(calls());
    let kit = kit.health(move |checker| checker.policy(policy)).build().unwrap();
    let peer = serve(&net);
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(call(&kit.channel()).await, Ok(()));
    kill(&net);
    drop(peer);
    call_in_vain(&kit.channel(), 22).await;
    assert_eq!(kit.health().unwrap().is_healthy("a:1"), Ok(false));
    let _peer = serve(&net);
    let checker = kit.health().unwrap();
    while checker.is_healthy("a:1") != Ok(true) {
        pass(10).await;
    }
    assert_eq!(call(&kit.channel()).await, Ok(()));
}
