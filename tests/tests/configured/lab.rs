//! This file knows what can be seen of a client from outside.

use core::time::Duration;

use bytes::Bytes;
use evenkeel_tests::{Network, Peer, RawClient, Reply};
use evenkeel_tonic::{Builder, Resilient};
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Unary, and may be executed twice.
pub(crate) const ECHO: &str = "/lab.v1.Lab/Echo";
/// The same.
pub(crate) const PUT: &str = "/lab.v1.Lab/Put";
/// Unary, and may not.
pub(crate) const CHARGE: &str = "/lab.v1.Lab/Charge";

/// A response stream, and may be executed twice.
pub(crate) const EXPORT: &str = "/lab.v1.Lab/Export";

/// A client, and the peer it calls.
pub(crate) struct Lab {
    pub(crate) net: Network,
    pub(crate) peer: Peer,
    pub(crate) service: Resilient<Channel>,
}

impl Lab {
    /// The peer gives these replies, the last one for ever.
    pub(crate) fn new(builder: Builder, replies: impl IntoIterator<Item = Reply>) -> Self {
        let lab = Self::dark(builder, replies);
        lab.peer.clone().listen(&lab.net, "a");
        lab
    }

    /// The same, but nobody listens yet.
    pub(crate) fn dark(builder: Builder, replies: impl IntoIterator<Item = Reply>) -> Self {
        let net = Network::new();
        let service = builder.target("lab").build(net.channel("a")).unwrap();
        Self { peer: Peer::new(replies), net, service }
    }

    /// From `millis` after now on somebody listens.
    pub(crate) fn listen_after(&self, millis: u64) {
        let peer = self.peer.clone();
        self.net.after(Duration::from_millis(millis), move |net| drop(peer.listen(net, "a")));
    }

    /// How a call ends.
    pub(crate) async fn call(&self, method: &'static str) -> Result<Bytes, Status> {
        Ok(RawClient::of(method, self.service.clone()).unary("ping").await?.into_inner())
    }

    /// The code a call ends with.
    pub(crate) async fn code(&self, method: &'static str) -> Code {
        self.call(method).await.map_or_else(|status| status.code(), |_| Code::Ok)
    }

    /// How many requests came.
    pub(crate) fn requests(&self) -> usize {
        self.peer.count()
    }

    /// Each request: when it came, what was left of its time, and which attempt it was.
    pub(crate) fn seen(&self) -> Vec<String> {
        let requests = self.peer.requests();
        let seen = requests.iter().map(|seen| {
            let attempt = seen.header("grpc-previous-rpc-attempts").unwrap_or("0");
            format!("{:?} {:?} {attempt}", seen.at, seen.timeout())
        });
        seen.collect()
    }
}

/// `UNAVAILABLE`, and nothing else.
pub(crate) fn busy() -> Reply {
    fails(Code::Unavailable)
}

/// This status in the headers, and nothing else.
pub(crate) fn fails(code: Code) -> Reply {
    Reply::status(Status::new(code, "the peer says so"))
}

pub(crate) fn ok() -> Reply {
    Reply::ok("pong")
}
