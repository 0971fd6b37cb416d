//! What dialling costs, and what happens to a connection that is interfered with.

use crate::cause;
use core::time::Duration;
use evenkeel_tests::{Dial, Network, Peer, RawClient, Reply};
use std::io;
use tonic::Code;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_refused_dial_is_unavailable() {
    let net = Network::new();
    let mut client = RawClient::new(net.channel("a"));
    let nobody = client.unary("ping").await.unwrap_err();
    assert_eq!(nobody.code(), Code::Unavailable);
    assert_eq!(cause::<io::Error>(&nobody).unwrap().kind(), io::ErrorKind::ConnectionRefused);

    let peer = Peer::new([Reply::ok("pong")]).listen(&net, "a");
    net.on_dial("a", [Dial::Refuse, Dial::ConnectAfter(SECOND)]);
    assert_eq!(client.unary("ping").await.unwrap_err().code(), Code::Unavailable);
    assert!(client.unary("ping").await.is_ok());
    assert_eq!(peer.requests()[0].at, SECOND);
    assert_eq!(net.dials("a"), [Duration::ZERO; 3]);
}

/// tonic has no backoff: the reason why the adapter's connector has one.
#[tokio::test(start_paused = true)]
async fn every_call_dials_a_dead_name_again() {
    let net = Network::new();
    let mut client = RawClient::new(net.channel("a"));
    for _ in 0..200 {
        assert!(client.unary("ping").await.is_err());
    }
    assert_eq!(net.dials("a").len(), 200);
}

#[tokio::test(start_paused = true)]
async fn calls_queue_behind_one_dial_and_the_dropped_ones_are_never_sent() {
    let net = Network::new();
    let peer = Peer::new([Reply::ok("pong")]).listen(&net, "a");
    net.on_dial("a", [Dial::ConnectAfter(SECOND)]);
    let channel = net.channel("a");
    let calls = (0..10).map(|number| {
        let mut client = RawClient::new(channel.clone());
        let patience = if number % 2 == 0 { SECOND / 2 } else { SECOND * 2 };
        async move { tokio::time::timeout(patience, client.unary("ping")).await.is_ok() }
    });
    let done = futures_util::future::join_all(calls).await;
    assert_eq!(done.iter().filter(|done| **done).count(), 5);
    assert_eq!(net.dials("a").len(), 1);
    assert_eq!(peer.count(), 5);
}

/// Neither of tonic's timeouts covers the dial.
#[tokio::test(start_paused = true)]
async fn a_hanging_dial_outlives_every_timeout_but_its_own() {
    let net = Network::new();
    net.on_dial("a", [Dial::Hang]);
    let slow = net.endpoint("a").timeout(SECOND).connect_with_connector_lazy(net.dialer());
    let mut request = tonic::Request::new("ping");
    request.set_timeout(SECOND);
    let call = async move { RawClient::new(slow).unary(request).await };
    assert!(tokio::time::timeout(SECOND * 3600, call).await.is_err());

    let endpoint = net.endpoint("a").connect_timeout(SECOND);
    let channel = endpoint.connect_with_connector_lazy(net.dialer());
    let status = RawClient::new(channel).unary("ping").await.unwrap_err();
    // The one failed dial that is not UNAVAILABLE.
    assert_eq!(status.code(), Code::Unknown);
    assert_eq!(cause::<io::Error>(&status).unwrap().kind(), io::ErrorKind::TimedOut);
    assert_eq!(net.dials("a"), [Duration::ZERO, SECOND * 3600]);
}

#[tokio::test(start_paused = true)]
async fn a_cut_connection_is_reset_at_both_ends() {
    let net = Network::new();
    let peer = Peer::new([Reply::hang(), Reply::ok("pong")]).listen(&net, "a");
    let mut client = RawClient::new(net.channel("a"));
    net.after(SECOND, |net| net.cut("a"));
    let status = client.unary("ping").await.unwrap_err();
    assert_eq!(status.code(), Code::Unknown);
    assert_eq!(cause::<io::Error>(&status).unwrap().kind(), io::ErrorKind::ConnectionReset);
    assert!(client.unary("ping").await.is_ok());
    assert_eq!(peer.requests()[1].at, SECOND);
    assert_eq!((peer.requests()[1].connection, peer.connections()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_connection_delivers_late() {
    let net = Network::new();
    let _peer = Peer::new([Reply::ok("pong").after(SECOND)]).listen(&net, "a");
    let mut client = RawClient::new(net.channel("a"));
    net.after(SECOND / 2, |net| net.freeze("a"));
    net.after(SECOND * 60, |net| net.thaw("a"));
    let early = tokio::time::timeout(SECOND * 59, client.unary("ping")).await;
    assert!(early.is_err());
    assert!(tokio::time::timeout(SECOND * 3, client.unary("ping")).await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_frozen_connection_fails_its_keepalive() {
    let net = Network::new();
    let _peer = Peer::new([Reply::hang()]).listen(&net, "a");
    let endpoint = net.endpoint("a").http2_keep_alive_interval(SECOND * 10);
    let endpoint = endpoint.keep_alive_timeout(SECOND * 20);
    let mut client = RawClient::new(endpoint.connect_with_connector_lazy(net.dialer()));
    net.after(SECOND * 3600, |net| net.freeze("a"));
    let noticed = SECOND * (3600 + 10 + 20);
    let status = tokio::time::timeout(noticed, client.unary("ping")).await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(cause::<hyper::Error>(&status).unwrap().is_timeout());
}

#[tokio::test(start_paused = true)]
async fn the_same_test_runs_the_same_twice() {
    let run = async || {
        let net = Network::new();
        let broken = Reply::headers().message("1").abort().after(SECOND / 3);
        let peer = Peer::new([broken, Reply::hang().close(), Reply::ok("pong")]).listen(&net, "a");
        net.after(SECOND, |net| net.cut("a"));
        let channel = net.channel("a");
        let calls = (0..20).map(|number| {
            let mut client = RawClient::new(channel.clone());
            async move {
                tokio::time::sleep(SECOND / 10 * number).await;
                client.unary("ping").await.map_err(|status| status.to_string())
            }
        });
        let answers = futures_util::future::join_all(calls).await;
        format!("{answers:?} {:?} {:?}", peer.requests(), net.dials("a"))
    };
    assert_eq!(run().await, run().await);
}
