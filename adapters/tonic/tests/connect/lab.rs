//! A site to dial: behaviours that change while the test runs, counted dials, and an HTTP/2 server
//! over in-memory pipes that counts what it is sent.

use core::convert::Infallible;
use core::future::pending;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::{Clock, Deadline};
use evenkeel_tonic::connect::{
    self, Connectivity, Connector, DeadlinePassed, DialPolicy, NotConnected,
};
use http::{Request, Response, Uri};
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::DuplexStream;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, ServiceExt};

/// What a dial meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mood {
    /// Accepts and closes without a word.
    Closing,
    /// Never answers.
    Hanging,
    /// The connector itself panics.
    Panicking,
    /// Nothing listens.
    Refusing,
    /// A server, after so long.
    Serving(Duration),
    /// The connector says that it is not ready.
    Unready,
}

pub(crate) const UP: Mood = Mood::Serving(Duration::ZERO);

/// One target and all that was done to it. Clones are the same site.
#[derive(Clone, Debug)]
pub(crate) struct Site(Arc<Mutex<Log>>);

#[derive(Debug)]
struct Log {
    mood: Mood,
    start: Instant,
    dials: Vec<Duration>,
    served: usize,
    servers: Vec<AbortHandle>,
}

impl Site {
    pub(crate) fn new(mood: Mood) -> Self {
        let (dials, servers) = (Vec::new(), Vec::new());
        Self(Arc::new(Mutex::new(Log { mood, start: now(), dials, served: 0, servers })))
    }

    /// A channel to it, with gRPC's pauses.
    pub(crate) fn channel(&self) -> (Channel, Connectivity) {
        let endpoint = Endpoint::from_static("http://site");
        let (connector, connectivity) = self.connector(endpoint.uri().clone(), DialPolicy::DEFAULT);
        (endpoint.connect_with_connector_lazy(connector), connectivity)
    }

    pub(crate) fn connector(
        &self,
        target: Uri,
        policy: DialPolicy,
    ) -> (Connector<Self>, Connectivity) {
        connect::connector(self.clone(), target, policy, 1)
    }

    pub(crate) fn becomes(&self, mood: Mood) {
        self.0.lock().unwrap().mood = mood;
    }

    /// In `delay` from now.
    pub(crate) fn becomes_in(&self, delay: Duration, mood: Mood) {
        let site = self.clone();
        tokio::spawn(async move {
            sleep(delay).await;
            site.becomes(mood);
        });
    }

    /// Closes every connection.
    pub(crate) fn hang_up(&self) {
        self.0.lock().unwrap().servers.drain(..).for_each(|server| server.abort());
    }

    /// When it was dialled, from the site's beginning.
    pub(crate) fn dials(&self) -> Vec<Duration> {
        self.0.lock().unwrap().dials.clone()
    }

    /// How many requests reached the server.
    pub(crate) fn served(&self) -> usize {
        self.0.lock().unwrap().served
    }

    pub(crate) fn elapsed(&self) -> Duration {
        now() - self.0.lock().unwrap().start
    }

    fn mood(&self) -> Mood {
        self.0.lock().unwrap().mood
    }

    fn serve(&self, pipe: DuplexStream) {
        let site = self.clone();
        let service = hyper::service::service_fn(move |_| {
            site.0.lock().unwrap().served += 1;
            let reply = Response::builder().header("grpc-status", "0").body(Empty::<Bytes>::new());
            core::future::ready(Ok::<_, Infallible>(reply.unwrap()))
        });
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(pipe), service);
        let server = tokio::spawn(async move {
            _ = server.await;
        });
        self.0.lock().unwrap().servers.push(server.abort_handle());
    }
}

impl Service<Uri> for Site {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.mood() {
            Mood::Unready => Poll::Ready(Err(io::Error::other("no sockets left"))),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let at = self.elapsed();
        self.0.lock().unwrap().dials.push(at);
        let site = self.clone();
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            match site.mood() {
                Mood::Closing => drop(theirs),
                Mood::Hanging => pending().await,
                Mood::Panicking => panic!("a connector of the test's"),
                Mood::Refusing => return Err(io::ErrorKind::ConnectionRefused.into()),
                Mood::Serving(delay) => {
                    sleep(delay).await;
                    site.serve(theirs);
                }
                // Asked all the same.
                Mood::Unready => site.serve(theirs),
            }
            Ok(TokioIo::new(ours))
        })
    }
}

/// One call that does not wait for its connection.
pub(crate) async fn call(channel: &Channel) -> Result<(), tonic::transport::Error> {
    let request = Request::post("/lab.v1.Lab/Echo").body(Body::empty()).unwrap();
    let mut channel = channel.clone();
    channel.ready().await?.call(request).await.map(drop)
}

/// One call that does; also how often it was handed to the channel.
pub(crate) async fn patient_call(
    channel: &Channel,
    connectivity: &Connectivity,
    deadline: Deadline,
) -> Result<usize, DeadlinePassed> {
    for handed in 1.. {
        connectivity.wait(deadline).await?;
        match call(channel).await {
            Ok(()) => return Ok(handed),
            Err(error) => assert!(NotConnected::of(&error).is_some(), "{error:?}"),
        }
    }
    unreachable!()
}

/// A deadline this far from now.
pub(crate) fn within(timeout: Duration) -> Deadline {
    Deadline::after(TokioClock.now(), timeout)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
