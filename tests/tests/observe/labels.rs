//! What series are called: O9 and G90.

use std::collections::BTreeSet;

use evenkeel_tests::{Network, Peer};
use evenkeel_tonic::Pool;
use tonic::Status;

use crate::figures::Figures;
use crate::lab::{
    CHARGE, ECHO, KINDS, Lab, busy, counted, fails, ok, opens_after, refused, retries,
};

#[tokio::test(start_paused = true)]
async fn o09_calls_retries_and_breakers_share_their_labels() {
    let figures = Figures::new();
    let builder = counted(&figures).retry(retries(2, 100)).breaker(opens_after(2));
    let lab = Lab::new(builder, [busy()]);
    for _ in 0..3 {
        lab.unary(ECHO).await.unwrap_err();
        lab.unary(CHARGE).await.unwrap_err();
    }
    let read = figures.read();
    let methods = BTreeSet::from(["lab.v1.Lab/Charge", "lab.v1.Lab/Echo"].map(str::to_owned));
    for name in [
        "resilience.calls",
        "grpc.client.call.duration",
        "grpc.client.attempt.started",
        "resilience.retry.calls",
        "resilience.retry.denied",
        "resilience.breaker.state",
        "resilience.breaker.transitions",
        "resilience.breaker.rejections",
    ] {
        assert_eq!(read.values(name, "grpc.method"), methods, "{name}");
        assert_eq!(read.values(name, "grpc.target"), BTreeSet::from(["lab".to_owned()]), "{name}");
    }
    let plain = methods.iter().map(|method| &**method);
    assert!(plain.eq(read.values("rpc.client.call.duration", "rpc.method").iter()));
}

#[tokio::test(start_paused = true)]
async fn g90_methods_nobody_registered_are_one_series() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).breaker(opens_after(1)), [busy()]);
    for method in
        ["/lab.v1.Lab/Nope", "/lab.v1.Lab/echo", "/scan.v1.Scan/A", "/scan.v1.Scan/%41", "/a.A/b"]
    {
        lab.unary(method).await.unwrap_err();
    }
    let read = figures.read();
    let other = BTreeSet::from(["other".to_owned()]);
    for (name, instrument) in read.instruments() {
        let key = if name.starts_with("rpc") { "rpc.method" } else { "grpc.method" };
        assert_eq!(read.values(name, key), other, "{name}");
        let most = if name == "resilience.breaker.state" { 5 } else { 1 };
        assert!(instrument.series.len() <= most, "{name}: {:?}", instrument.series);
    }
    assert_eq!(read.of("resilience.calls", &[("grpc.method", "other")]), 5.0);
}

/// The number of series hangs on the settings and on the codes there are, not on how much is called.
#[tokio::test(start_paused = true)]
async fn no_label_comes_from_what_a_server_or_a_caller_says() {
    let figures = Figures::new();
    let builder = counted(&figures).retry(retries(3, 10)).breaker(opens_after(1_000));
    let lab = Lab::new(builder, [busy(), refused(), ok(), fails(tonic::Code::NotFound), busy()]);
    let series = || figures.read().instruments().map(|(_, one)| one.series.len()).sum::<usize>();
    for _ in 0..3 {
        for kind in KINDS {
            _ = lab.call(kind).await;
        }
    }
    let before = series();
    for round in 0..50 {
        let status = Status::unavailable(format!("round {round}"));
        drop(status);
        for kind in KINDS {
            _ = lab.call(kind).await;
        }
    }
    assert_eq!(series(), before);
}

/// In a pool the breakers have members, and all else is the same.
#[tokio::test(start_paused = true)]
async fn o09_a_members_breaker_has_the_clients_target_too() {
    let (figures, net) = (Figures::new(), Network::new());
    for name in ["a", "b"] {
        Peer::new([busy()]).listen(&net, name);
    }
    let pool = Pool::of(["a", "b"].map(|name| (name, net.channel(name))));
    let service = counted(&figures).breaker(opens_after(1)).build_pool(pool).unwrap();
    let mut client = evenkeel_tests::RawClient::of(ECHO, service);
    for _ in 0..4 {
        client.unary("ping").await.unwrap_err();
    }
    let read = figures.read();
    let members = BTreeSet::from(["a", "b"].map(str::to_owned));
    for name in ["resilience.breaker.state", "resilience.breaker.transitions"] {
        assert_eq!(read.values(name, "member"), members, "{name}");
        assert_eq!(read.values(name, "grpc.target"), BTreeSet::from(["lab".to_owned()]));
    }
    assert_eq!(read.of("resilience.calls", &[("status", "rejected")]), 2.0);
}
