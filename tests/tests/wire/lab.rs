//! This file knows the client under test: generated-style calls through the service, a real tonic
//! channel below it, and a peer on a network of memory.

use core::error::Error;
use core::iter::successors;
use core::time::Duration;

use bytes::Bytes;
use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen, drain};
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::connect::{self, DialPolicy};
use evenkeel_tonic::core::{BreakerState, Clock, Snapshot};
use evenkeel_tonic::{Builder, MethodKind, Resilient};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

/// Unary, and may be executed twice.
pub(crate) const ECHO: &str = "/lab.v1.Lab/Echo";
/// The same.
pub(crate) const PUT: &str = "/lab.v1.Lab/Put";
/// Unary, and nothing is said about it.
pub(crate) const CHARGE: &str = "/lab.v1.Lab/Charge";
/// A response stream, and may be executed twice.
pub(crate) const EXPORT: &str = "/lab.v1.Lab/Export";
/// A request stream, and nothing is said about it.
pub(crate) const UPLOAD: &str = "/lab.v1.Lab/Upload";
/// Both streams, and nothing is said about it.
pub(crate) const CHAT: &str = "/lab.v1.Lab/Chat";

pub(crate) const KINDS: [MethodKind; 4] = [
    MethodKind::Unary,
    MethodKind::ServerStreaming,
    MethodKind::ClientStreaming,
    MethodKind::BidiStreaming,
];

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
        let service = builder.build(net.channel("a")).unwrap();
        Self { peer: Peer::new(replies), net, service }
    }

    /// The same, over the connector that knows whether there is a connection.
    pub(crate) fn dark_over_our_connector(
        builder: Builder,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let net = Network::new();
        let endpoint = net.endpoint("a");
        let target = endpoint.uri().clone();
        let (connector, connectivity) =
            connect::connector(net.dialer(), target, DialPolicy::DEFAULT, 7);
        let channel = endpoint.connect_with_connector_lazy(connector);
        let service = builder.connectivity(connectivity).build(channel).unwrap();
        Self { peer: Peer::new(replies), net, service }
    }

    /// From `millis` after now on somebody listens.
    pub(crate) fn listen_after(&self, millis: u64) {
        let peer = self.peer.clone();
        self.net.after(Duration::from_millis(millis), move |net| drop(peer.listen(net, "a")));
    }

    /// A client of one method, as generated code makes them.
    pub(crate) fn client(&self, method: &'static str) -> RawClient<Resilient<Channel>> {
        RawClient::of(method, self.service.clone())
    }

    /// One unary call.
    pub(crate) async fn unary(&self, method: &'static str) -> Result<Bytes, Status> {
        self.request(method, Request::new("ping")).await
    }

    /// One unary call with this request.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        request: Request<&'static str>,
    ) -> Result<Bytes, Status> {
        Ok(self.client(method).unary(request).await?.into_inner())
    }

    /// A response stream, read to its end.
    pub(crate) async fn export(&self) -> (Vec<Bytes>, Option<Status>) {
        match self.client(EXPORT).server_streaming("ping").await {
            Ok(response) => drain(response.into_inner()).await,
            Err(status) => (Vec::new(), Some(status)),
        }
    }

    /// A call of this kind, read to its end.
    pub(crate) async fn call(&self, kind: MethodKind) -> Result<Vec<Bytes>, Status> {
        let requests = || tokio_stream::iter([Bytes::from("1"), Bytes::from("2")]);
        let (messages, status) = match kind {
            MethodKind::Unary => (vec![self.unary(ECHO).await?], None),
            MethodKind::ServerStreaming => self.export().await,
            MethodKind::ClientStreaming => {
                let answer = self.client(UPLOAD).client_streaming(requests()).await?;
                (vec![answer.into_inner()], None)
            }
            MethodKind::BidiStreaming => {
                drain(self.client(CHAT).streaming(requests()).await?.into_inner()).await
            }
        };
        status.map_or(Ok(messages), Err)
    }

    /// When the peer's requests came, in milliseconds.
    pub(crate) fn starts(&self) -> Vec<u64> {
        self.peer.requests().iter().map(|seen| in_millis(seen.at)).collect()
    }

    /// When the peer's requests came, and what was left of their time, in milliseconds.
    pub(crate) fn slices(&self) -> Vec<(u64, u64)> {
        let left = |seen: &Seen| in_millis(seen.timeout().expect("a request with a timeout"));
        self.peer.requests().iter().map(|seen| (in_millis(seen.at), left(seen))).collect()
    }

    /// The `grpc-previous-rpc-attempts` of the peer's requests.
    pub(crate) fn previous(&self) -> Vec<Option<String>> {
        let previous = |seen: &Seen| seen.header("grpc-previous-rpc-attempts").map(str::to_owned);
        self.peer.requests().iter().map(previous).collect()
    }

    /// What the breaker of `method` looks like.
    pub(crate) fn breaker(&self, method: &str) -> Snapshot {
        self.service.circuit_breaker_states()["lab"][method]
    }

    /// The state of the breaker of `method`, and the failures it has counted.
    pub(crate) fn circuit(&self, method: &str) -> (BreakerState, u16) {
        let shown = self.breaker(method);
        (shown.state, shown.failures)
    }
}

/// The method of this kind.
pub(crate) const fn method_of(kind: MethodKind) -> &'static str {
    match kind {
        MethodKind::Unary => ECHO,
        MethodKind::ServerStreaming => EXPORT,
        MethodKind::ClientStreaming => UPLOAD,
        MethodKind::BidiStreaming => CHAT,
    }
}

pub(crate) fn ok() -> Reply {
    Reply::ok("pong")
}

/// `UNAVAILABLE`, and nothing else.
pub(crate) fn busy() -> Reply {
    fails(Code::Unavailable)
}

/// This status in the headers, and nothing else.
pub(crate) fn fails(code: Code) -> Reply {
    Reply::status(Status::new(code, "the peer says so"))
}

/// A request with a timeout of its caller's.
pub(crate) fn within(millis: u64) -> Request<&'static str> {
    let mut request = Request::new("ping");
    request.set_timeout(Duration::from_millis(millis));
    request
}

/// The output of `call`, and after how many milliseconds it came.
pub(crate) async fn timed<T>(call: impl Future<Output = T>) -> (T, u64) {
    let began = TokioClock.now();
    let output = call.await;
    (output, in_millis(TokioClock.now().since(began).as_duration()))
}

pub(crate) async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// Exact, because a test that rounds cannot see a rounding fault.
pub(crate) fn in_millis(span: Duration) -> u64 {
    assert_eq!(span.as_nanos() % 1_000_000, 0, "{span:?} are no whole milliseconds");
    u64::try_from(span.as_millis()).unwrap()
}

/// The statuses in the chain of `status`, itself included, outermost first.
pub(crate) fn statuses(status: &Status) -> Vec<&Status> {
    let outermost: &(dyn Error + 'static) = status;
    successors(Some(outermost), |&error| error.source())
        .filter_map(<dyn Error>::downcast_ref)
        .collect()
}

/// The code a call failed with.
pub(crate) fn code<T>(result: &Result<T, Status>) -> Code {
    result.as_ref().err().map_or(Code::Ok, Status::code)
}
