//! This file knows the client under test: generated-style calls through a service that tells, a
//! real tonic channel below it, and a peer on a network of memory.

use core::time::Duration;

use bytes::Bytes;
use evenkeel_tests::{Network, Peer, RawClient, Reason, Reply, drain, pb};
use evenkeel_tonic::core::{Backoff, BreakerPolicy, Consecutive, Jitter, RetryPolicy};
use evenkeel_tonic::{Builder, MethodKind, Resilient};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::figures::Figures;

/// Unary, and may be executed twice.
pub(crate) const ECHO: &str = "/lab.v1.Lab/Echo";
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
    pub(crate) peer: Peer,
    pub(crate) service: Resilient<Channel>,
}

impl Lab {
    /// The peer gives these replies, the last one for ever.
    pub(crate) fn new(builder: Builder, replies: impl IntoIterator<Item = Reply>) -> Self {
        let net = Network::new();
        let service = builder.build(net.channel("a")).unwrap();
        Self { peer: Peer::new(replies).listen(&net, "a"), service }
    }

    /// A client of one method, as generated code makes them.
    pub(crate) fn client(&self, method: &'static str) -> RawClient<Resilient<Channel>> {
        RawClient::of(method, self.service.clone())
    }

    /// One unary call.
    pub(crate) async fn unary(&self, method: &'static str) -> Result<Bytes, Status> {
        Ok(self.client(method).unary(Request::new("ping")).await?.into_inner())
    }

    /// A call of this kind, read to its end.
    pub(crate) async fn call(&self, kind: MethodKind) -> Result<Vec<Bytes>, Status> {
        let requests = || tokio_stream::iter([Bytes::from("1"), Bytes::from("2")]);
        let mut client = self.client(method_of(kind));
        let response = match kind {
            MethodKind::Unary => return self.unary(ECHO).await.map(|message| vec![message]),
            MethodKind::ClientStreaming => {
                let answer = client.client_streaming(requests()).await?;
                return Ok(vec![answer.into_inner()]);
            }
            MethodKind::ServerStreaming => client.server_streaming("ping").await?,
            MethodKind::BidiStreaming => client.streaming(requests()).await?,
        };
        let (messages, status) = drain(response.into_inner()).await;
        status.map_or(Ok(messages), Err)
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

/// A builder that knows the methods of `lab.v1.Lab`, and counts.
pub(crate) fn counted(figures: &Figures) -> Builder {
    client().metrics(&figures.metrics)
}

/// A builder that knows the methods of `lab.v1.Lab`.
pub(crate) fn client() -> Builder {
    Resilient::builder().target("lab").methods(&pb::METHODS)
}

/// The default codes, this many attempts, and waits that double from `initial`.
pub(crate) fn retries(attempts: u16, initial: u64) -> RetryPolicy {
    let backoff = Backoff::new(millis(initial), Duration::from_secs(10)).unwrap();
    let backoff = backoff.with_jitter(Jitter::None).unwrap();
    RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap().with_backoff(backoff)
}

/// Opens after `threshold` failures in a row, for 10 s; one trial at a time.
pub(crate) fn opens_after(threshold: u16) -> BreakerPolicy {
    BreakerPolicy::new(Consecutive::new(threshold).unwrap()).with_open_for(millis(10_000)).unwrap()
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
    Reply::status(Status::new(code, SECRET))
}

/// What certainly was not executed.
pub(crate) fn refused() -> Reply {
    Reply::hang().reset(Reason::REFUSED_STREAM)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) async fn pass(span: u64) {
    tokio::time::sleep(millis(span)).await;
}

/// What the peer's statuses say.
pub(crate) const SECRET: &str = "the card 4929 is stolen";
