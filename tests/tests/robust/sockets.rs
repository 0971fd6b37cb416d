//! The rows that only a real socket has: what the kernel says when a connection is broken off.
//! No clock is involved.

use crate::{CHARGE, ECHO, EXPORT, circuit, guarded, sent};
use core::net::SocketAddr;
use core::time::Duration;
use evenkeel_core::{Backoff, RetryPolicy, Sent};
use evenkeel_tests::{Peer, RawClient, Reply, drain};
use evenkeel_tonic::Resilient;
use tokio::net::TcpListener;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

/// Without a pause between attempts: on a real clock it would be one.
fn service(address: SocketAddr) -> Resilient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let at_once = Backoff::new(Duration::ZERO, Duration::ZERO).unwrap();
    let retry = RetryPolicy::DEFAULT.with_backoff(at_once);
    guarded().retry(retry).build(endpoint.connect_lazy()).unwrap()
}

async fn service_of(replies: impl IntoIterator<Item = Reply>) -> (Resilient<Channel>, Peer) {
    let peer = Peer::new(replies);
    (service(peer.listen_tcp().await.unwrap()), peer)
}

#[tokio::test]
async fn fin_and_rst_after_the_request() {
    for fault in [Reply::hang().close(), Reply::hang().abort()] {
        let (service, peer) = service_of([fault.clone(), Reply::ok("pong")]).await;
        let answer = RawClient::of(ECHO, service).unary("ping").await.unwrap();
        assert_eq!((answer.into_inner(), peer.count()), ("pong".into(), 2));

        let (service, peer) = service_of([fault, Reply::ok("pong")]).await;
        let status = RawClient::of(CHARGE, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::Maybe)));
        assert_eq!((peer.count(), circuit(&service, CHARGE).failures), (1, 1));
    }
}

/// RST may take what was not read yet with it, so how much came is not asked.
#[tokio::test]
async fn rst_in_the_body() {
    let breaks = || Reply::headers().messages(["1", "2"]).abort();
    let (service, peer) = service_of([breaks()]).await;
    let mut client = RawClient::of(EXPORT, service.clone());
    let status = match client.server_streaming("all").await {
        Ok(stream) => drain(stream.into_inner()).await.1.unwrap(),
        Err(status) => status,
    };
    assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::Maybe)));
    assert_eq!((peer.count(), circuit(&service, EXPORT).failures), (1, 1));

    let (service, peer) = service_of([breaks(), Reply::ok("pong")]).await;
    let answer = RawClient::of(ECHO, service).unary("ping").await.unwrap();
    assert_eq!((answer.into_inner(), peer.count()), ("pong".into(), 2), "it was held");
}

#[tokio::test]
async fn a_port_on_which_nobody_listens() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let status = RawClient::of(CHARGE, service(free)).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::NotConnected)));
}
