//! This file knows the client under test, and the peer or peers it calls.

use core::time::Duration;

use bytes::Bytes;
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Network, Peer, RawClient, Reason, Reply, Seen};
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::core::{BreakerPolicy, Clock, Consecutive, Snapshot};
use evenkeel_tonic::{Builder, HedgePolicy, Pool, Resilient};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

/// Unary, and may be executed twice.
pub(crate) const ECHO: &str = "/lab.v1.Lab/Echo";
/// Unary, and nothing is said about it.
pub(crate) const CHARGE: &str = "/lab.v1.Lab/Charge";
/// A response stream, and may be executed twice.
pub(crate) const EXPORT: &str = "/lab.v1.Lab/Export";
/// A request stream, and nothing is said about it.
pub(crate) const UPLOAD: &str = "/lab.v1.Lab/Upload";

/// A client, and the peer it calls.
pub(crate) struct Lab {
    pub(crate) net: Network,
    pub(crate) peer: Peer,
    pub(crate) service: Resilient<Channel>,
}

impl Lab {
    /// The peer gives these replies, the last one for ever.
    pub(crate) fn new(builder: Builder, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::of(builder, Peer::new(replies))
    }

    pub(crate) fn of(builder: Builder, peer: Peer) -> Self {
        let net = Network::new();
        let service = builder.build(net.channel("a")).unwrap();
        peer.clone().listen(&net, "a");
        Self { net, peer, service }
    }

    pub(crate) fn client(&self, method: &'static str) -> RawClient<Resilient<Channel>> {
        RawClient::of(method, self.service.clone())
    }

    /// One unary call, and after how many milliseconds it was over.
    pub(crate) async fn unary(&self, method: &'static str) -> (Result<Bytes, Status>, u64) {
        self.request(method, Request::new("ping")).await
    }

    pub(crate) async fn request(
        &self,
        method: &'static str,
        request: Request<&'static str>,
    ) -> (Result<Bytes, Status>, u64) {
        let began = TokioClock.now();
        let answer = self.client(method).unary(request).await.map(tonic::Response::into_inner);
        let took = in_millis(TokioClock.now().since(began).as_duration());
        // What was dropped is reset a moment later.
        pass(1).await;
        (answer, took)
    }

    /// When the requests came, in milliseconds.
    pub(crate) fn starts(&self) -> Vec<u64> {
        self.peer.requests().iter().map(|seen| in_millis(seen.at)).collect()
    }

    /// When the requests were cancelled, in milliseconds; those that were not, at `None`.
    pub(crate) fn cancelled(&self) -> Vec<Option<u64>> {
        self.peer.requests().iter().map(cancelled_at).collect()
    }

    pub(crate) fn breaker(&self) -> Snapshot {
        self.service.circuit_breaker_states()["lab"][ECHO]
    }
}

pub(crate) fn cancelled_at(seen: &Seen) -> Option<u64> {
    seen.reset.map(|(at, reason)| {
        assert_eq!(reason, Reason::CANCEL);
        in_millis(at)
    })
}

/// Up to `attempts`, so many milliseconds apart; `UNAVAILABLE` and `RESOURCE_EXHAUSTED` are not
/// fatal.
pub(crate) fn after(delay: u64, attempts: u16) -> HedgePolicy {
    HedgePolicy::after(millis(delay)).unwrap().with_max_attempts(attempts).unwrap()
}

/// A client that knows the methods, and hedges like this.
pub(crate) fn hedging(delay: u64, attempts: u16) -> Builder {
    client().hedge(after(delay, attempts))
}

/// Ten seconds, and the methods.
pub(crate) fn client() -> Builder {
    Resilient::builder().target("lab").methods(&METHODS).timeout(millis(10_000)).unwrap()
}

/// The same over a pool of members with these names, each of which answers by `rule`.
pub(crate) fn pool(
    builder: Builder,
    names: &[&str],
    rule: impl FnMut(&Seen) -> Reply + Clone + Send + 'static,
) -> (Resilient<Channel>, Vec<Peer>, Network) {
    let net = Network::new();
    let targets = names.iter().map(|name| format!("{name}:1"));
    let pool = Pool::builder().insecure().connector(net.dialer()).targets(targets).unwrap();
    let service = builder.build_pool(pool).unwrap();
    let peers = names.iter().map(|name| Peer::answering(rule.clone()).listen(&net, name));
    (service, peers.collect(), net)
}

/// Opens after `threshold` failures in a row.
pub(crate) fn opens_after(threshold: u16) -> BreakerPolicy {
    BreakerPolicy::new(Consecutive::new(threshold).unwrap()).with_open_for(millis(10_000)).unwrap()
}

pub(crate) fn is_hedge(seen: &Seen) -> bool {
    seen.header("grpc-previous-rpc-attempts").is_some()
}

pub(crate) fn ok() -> Reply {
    Reply::ok("pong")
}

/// `UNAVAILABLE`, and nothing else.
pub(crate) fn busy() -> Reply {
    fails(Code::Unavailable)
}

pub(crate) fn fails(code: Code) -> Reply {
    Reply::status(Status::new(code, "the peer says so"))
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) async fn pass(span: u64) {
    tokio::time::sleep(millis(span)).await;
}

/// Exact, because a test that rounds cannot see a rounding fault.
pub(crate) fn in_millis(span: Duration) -> u64 {
    assert_eq!(span.as_nanos() % 1_000_000, 0, "{span:?} are no whole milliseconds");
    u64::try_from(span.as_millis()).unwrap()
}
