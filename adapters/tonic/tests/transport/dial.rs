//! This file knows the ways not to get a connection. In each, nothing can have been sent.

use core::future::{pending, ready};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;

use evenkeel_core::{Code, Sent};
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::net::TcpSocket;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, service_fn};

use crate::peer::{call, endpoint};
use crate::{assert_means, find};

type Dialled = io::Result<TokioIo<DuplexStream>>;

#[tokio::test]
async fn g36_nothing_listens() {
    // Bound and not listening, so that nobody else gets the port.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = socket.local_addr().expect("an address");
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a URI");

    let error = call(&endpoint.connect_lazy()).await.expect_err("nobody is there");
    assert_means(&error, Code::Unavailable, Sent::NotConnected);
    let io = find::<io::Error>(&error).expect("the system's answer");
    assert_eq!(io.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_times_out() {
    let endpoint = endpoint().connect_timeout(Duration::from_secs(1));
    let channel = endpoint.connect_with_connector_lazy(service_fn(|_| pending::<Dialled>()));
    let error = call(&channel).await.expect_err("nobody answers");
    assert_means(&error, Code::Unavailable, Sent::NotConnected);
    // tonic does not say "connect" here: it is an I/O error and nothing else.
    assert!(find::<tonic::ConnectError>(&error).is_none());
    assert_eq!(find::<io::Error>(&error).expect("a timeout").kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_connector_that_nobody_wraps() {
    let no_way = || ready(Dialled::Err(io::ErrorKind::HostUnreachable.into()));
    let channel = Channel::new(service_fn(move |_| no_way()), endpoint());
    let error = call(&channel).await.expect_err("no way there");
    assert_means(&error, Code::Unavailable, Sent::NotConnected);
    assert!(find::<tonic::ConnectError>(&error).is_none());
}

/// A connector that fails before it is called, as none should.
struct Broken;

impl Service<Uri> for Broken {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = core::future::Ready<Dialled>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::Error::other("out of descriptors")))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

#[tokio::test]
async fn a_channel_that_is_dead_for_ever() {
    let channel = endpoint().connect_with_connector_lazy(Broken);
    for _ in 0..2 {
        let error = call(&channel).await.expect_err("a dead channel");
        assert_means(&error, Code::Unavailable, Sent::NotConnected);
        assert!(find::<tower::buffer::error::ServiceError>(&error).is_some());
    }
}

#[test]
fn a_channel_whose_runtime_is_gone() {
    let runtime = || tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let first = runtime();
    let channel = first.block_on(async { endpoint().connect_lazy() });
    drop(first);
    let error = runtime().block_on(call(&channel)).expect_err("nobody works for it");
    assert_means(&error, Code::Unavailable, Sent::NotConnected);
    assert!(find::<tower::buffer::error::Closed>(&error).is_some());
}
