//! What the peer, the network and the stub do, and with it what raw tonic makes of every fault:
//! the facts the gRPC adapter is built on, for tonic 0.14.9.

mod dialling;
mod real_server;
mod sockets;
mod statuses;
mod streams;
mod stub;
mod transport;

use evenkeel_tests::{Network, Peer, RawClient, Reply};
use tonic::transport::Channel;
use tonic::{Code, Status};

/// A peer with these replies, and a raw tonic client of it.
fn client_of(replies: impl IntoIterator<Item = Reply>) -> (RawClient<Channel>, Peer) {
    let net = Network::new();
    let peer = Peer::new(replies).listen(&net, "a");
    (RawClient::new(net.channel("a")), peer)
}

/// How raw tonic reports a call that is answered like this.
async fn status_of(reply: Reply) -> Status {
    let (mut client, peer) = client_of([reply]);
    let status = client.unary("ping").await.expect_err("the reply is a failure");
    assert_eq!(peer.count(), 1, "raw tonic repeats nothing");
    status
}

/// The code of it.
async fn code_of(reply: Reply) -> Code {
    status_of(reply).await.code()
}

/// The errors below a status, outermost first.
fn causes(status: &Status) -> Vec<&(dyn core::error::Error + 'static)> {
    core::iter::successors(core::error::Error::source(status), |error| error.source()).collect()
}

/// The cause of this type, if there is one.
fn cause<E: core::error::Error + 'static>(status: &Status) -> Option<&E> {
    causes(status).into_iter().find_map(|error| error.downcast_ref())
}
