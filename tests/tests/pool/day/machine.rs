//! This file knows one machine of the day: a real server that says its name, and of its health what
//! its mood is.

use core::convert::Infallible;
use core::future::{Ready, pending, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_tests::{Network, RawCodec};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tower::Service;

/// How a machine is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Mood {
    /// Nobody listens.
    Gone,
    /// It answers calls, and is silent about its health.
    Mute,
    /// It answers calls, and says that it should get none.
    NotServing,
    Serving,
}

pub(super) struct Machine {
    net: Network,
    host: String,
    /// What it answers.
    name: String,
    mood: watch::Sender<Mood>,
    server: Option<AbortHandle>,
}

impl Machine {
    /// One that is not there yet.
    pub(super) fn new(net: &Network, host: &str, name: &str) -> Self {
        let mood = watch::Sender::new(Mood::Gone);
        Self { net: net.clone(), host: host.to_owned(), name: name.to_owned(), mood, server: None }
    }

    pub(super) fn mood(&self) -> Mood {
        *self.mood.borrow()
    }

    /// Puts it in this mood. Whoever watches its health hears of it at once, unless it is to be
    /// silent.
    pub(super) fn set(&mut self, mood: Mood) {
        self.mood.send_replace(mood);
        match (mood, &self.server) {
            (Mood::Gone, _) => {
                if let Some(server) = self.server.take() {
                    server.abort();
                }
                drop(self.net.listen(&self.host));
                self.cut();
            }
            (Mood::Mute, Some(_)) => self.cut(),
            (_, Some(_)) => {}
            (_, None) => self.server = Some(self.serve()),
        }
    }

    /// Breaks off its connections, and is there for new ones.
    pub(super) fn cut(&self) {
        self.net.cut(&self.host);
    }

    fn serve(&self) -> AbortHandle {
        let health = HealthServer::new(Says(self.mood.subscribe()));
        let server = Server::builder().add_service(health).add_service(Named(self.name.clone()));
        tokio::spawn(server.serve_with_incoming(self.net.listen(&self.host))).abort_handle()
    }
}

/// Answers with a name.
#[derive(Clone)]
struct Named(String);

impl UnaryService<Bytes> for Named {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, _: Request<Bytes>) -> Self::Future {
        ready(Ok(Response::new(self.0.clone().into())))
    }
}

impl NamedService for Named {
    const NAME: &'static str = "lab.v1.Lab";
}

impl Service<http::Request<Body>> for Named {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let named = self.clone();
        Box::pin(async { Ok(Grpc::new(RawCodec).unary(named, request).await) })
    }
}

/// Says how it is.
struct Says(watch::Receiver<Mood>);

impl Says {
    /// `None` is no word.
    fn word(mood: Mood) -> Option<HealthCheckResponse> {
        match mood {
            Mood::Serving => Some(HealthCheckResponse { status: 1 }),
            Mood::NotServing => Some(HealthCheckResponse { status: 2 }),
            Mood::Gone | Mood::Mute => None,
        }
    }
}

#[tonic::async_trait]
impl Health for Says {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let mood = *self.0.borrow();
        match Self::word(mood) {
            Some(word) => Ok(Response::new(word)),
            None => pending().await,
        }
    }

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let mut moods = self.0.clone();
        moods.mark_changed();
        let words = unfold(moods, async |mut moods: watch::Receiver<Mood>| {
            loop {
                moods.changed().await.ok()?;
                let mood = *moods.borrow_and_update();
                if let Some(word) = Self::word(mood) {
                    return Some((Ok(word), moods));
                }
            }
        });
        Ok(Response::new(Box::pin(words)))
    }
}
