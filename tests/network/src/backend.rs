//! This file knows a server: what it makes of a request depends on its mood, and the moods are the
//! [plan's](crate::plan).

use core::pin::Pin;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::pb::Msg;
use crate::pb::lab_server::{Lab, LabServer};
use evenkeel_tonic::OpenBudgetLayer;
use futures_util::future::pending;
use futures_util::stream::{Stream, StreamExt, unfold};
use tokio::sync::watch;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};
use tonic_health::ServingStatus;

use crate::book::{Book, Event};
use crate::plan::{ITEMS, LINKS, Link};
use crate::socket::accepted;
use crate::visit::Visit;

/// How a server answers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Mood {
    /// It does the work and then fails: INTERNAL.
    Broken,
    /// UNAVAILABLE, at once.
    Busy,
    #[default]
    Fine,
    /// Never.
    Silent,
    Slow(Duration),
}

/// What the servers and their connections are like, changed from outside.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    moods: Arc<Mutex<BTreeMap<&'static str, Mood>>>,
    resets: Arc<BTreeMap<Link, watch::Sender<()>>>,
    restarts: Arc<BTreeMap<&'static str, watch::Sender<()>>>,
    serving: Arc<BTreeMap<&'static str, watch::Sender<bool>>>,
}

impl Nature {
    pub(crate) fn of(hosts: &[&'static str]) -> Self {
        let serving = hosts.iter().map(|host| (*host, watch::Sender::new(true))).collect();
        let restarts = hosts.iter().map(|host| (*host, watch::Sender::new(()))).collect();
        let resets = LINKS.map(|link| (link, watch::Sender::new(()))).into();
        Self {
            moods: Arc::default(),
            resets: Arc::new(resets),
            restarts: Arc::new(restarts),
            serving: Arc::new(serving),
        }
    }

    pub(crate) fn set_mood(&self, host: &'static str, mood: Mood) {
        self.moods.lock().unwrap_or_else(PoisonError::into_inner).insert(host, mood);
    }

    /// What `host` says of its own health.
    pub(crate) fn set_serving(&self, host: &str, serving: bool) {
        self.serving[host].send_replace(serving);
    }

    /// Every connection over `link` is lost, though nothing else is.
    pub(crate) fn reset(&self, link: Link) {
        self.resets[&link].send_replace(());
    }

    /// Changes when the connections over `link` are lost.
    pub(crate) fn resets(&self, link: Link) -> Option<watch::Receiver<()>> {
        self.resets.get(&link).map(watch::Sender::subscribe)
    }

    /// `host` closes its connections politely (GOAWAY), waits for its streams, and begins anew.
    pub(crate) fn restart(&self, host: &str) {
        self.restarts[host].send_replace(());
    }

    fn mood(&self, host: &str) -> Mood {
        let moods = self.moods.lock().unwrap_or_else(PoisonError::into_inner);
        moods.get(host).copied().unwrap_or_default()
    }
}

/// One life of a server.
#[derive(Clone)]
pub(crate) struct Backend {
    pub(crate) host: &'static str,
    pub(crate) life: u32,
    pub(crate) book: Book,
    pub(crate) nature: Nature,
}

impl Backend {
    pub(crate) async fn serve(self) -> turmoil::Result {
        let (book, nature) = (self.book.clone(), self.nature.clone());
        serve(self.host, &book, &nature, LabServer::new(self)).await
    }

    /// The work itself, as the mood has it.
    async fn work<T>(&self, request: &Request<T>) -> Result<Visit, Status> {
        let visit = Visit::of(&self.book, self.host, self.life, request)?;
        match self.nature.mood(self.host) {
            Mood::Broken => Err(Status::internal("broken")),
            Mood::Busy => Err(Status::unavailable("busy")),
            Mood::Fine => Ok(visit),
            Mood::Silent => pending().await,
            Mood::Slow(span) => {
                tokio::time::sleep(span).await;
                Ok(visit)
            }
        }
    }

    async fn unary(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        let visit = self.work(&request).await?;
        tokio::time::sleep(WORK).await;
        Ok(Response::new(visit.message(0)))
    }
}

/// What a fine server takes for anything.
const WORK: Duration = Duration::from_millis(3);

/// Serves `lab` on this host, beside its health.
pub(crate) async fn serve<T: Lab>(
    host: &'static str,
    book: &Book,
    nature: &Nature,
    lab: LabServer<T>,
) -> turmoil::Result {
    let (reporter, health) = tonic_health::server::health_reporter();
    let mut serving = nature.serving[host].subscribe();
    let telling = async move {
        loop {
            let status = match *serving.borrow_and_update() {
                true => ServingStatus::Serving,
                false => ServingStatus::NotServing,
            };
            reporter.set_service_status("", status).await;
            if serving.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    };
    let book = book.clone();
    let health = InterceptedService::new(health, move |request| {
        book.note(Event::Probed { host });
        Ok(request)
    });
    let routes = Routes::new(lab).add_service(health);
    let mut restarts = nature.restarts[host].subscribe();
    let serving = async {
        loop {
            // Without connections the old server was gone at once, before `patience` had a look.
            restarts.mark_unchanged();
            let server = Server::builder()
                .layer(OpenBudgetLayer::new())
                .http2_keepalive_interval(Some(Duration::from_secs(2)))
                .http2_keepalive_timeout(Some(Duration::from_secs(1)))
                .add_routes(routes.clone());
            let (mut told, incoming) = (restarts.clone(), accepted().await?);
            let asked = async move { drop(told.changed().await) };
            let patience = async {
                drop(restarts.changed().await);
                tokio::time::sleep(PATIENCE).await;
            };
            tokio::select! {
                biased;
                served = server.serve_with_incoming_shutdown(incoming, asked) => served?,
                () = patience => {}
            }
        }
    };
    tokio::select! {
        biased;
        served = serving => served,
        () = telling => Ok(()),
    }
}

/// What a server that restarts gives the streams it has.
const PATIENCE: Duration = Duration::from_millis(500);

/// A stream of answers.
pub(crate) type Answers = Pin<Box<dyn Stream<Item = Result<Msg, Status>> + Send>>;

#[tonic::async_trait]
impl Lab for Backend {
    type ExportStream = Answers;
    type ChatStream = Answers;

    async fn echo(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        self.unary(request).await
    }

    async fn put(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        self.unary(request).await
    }

    async fn charge(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        self.unary(request).await
    }

    async fn export(&self, request: Request<Msg>) -> Result<Response<Answers>, Status> {
        let visit = self.work(&request).await?;
        let items = unfold((visit, 0), |(visit, sent)| async move {
            if sent == ITEMS {
                return None;
            }
            tokio::time::sleep(WORK).await;
            Some((Ok(visit.message(sent + 1)), (visit, sent + 1)))
        });
        Ok(Response::new(Box::pin(items)))
    }

    async fn upload(&self, request: Request<Streaming<Msg>>) -> Result<Response<Msg>, Status> {
        let visit = self.work(&request).await?;
        let mut items = request.into_inner();
        while items.message().await?.is_some() {}
        Ok(Response::new(visit.message(0)))
    }

    async fn chat(&self, request: Request<Streaming<Msg>>) -> Result<Response<Answers>, Status> {
        let visit = self.work(&request).await?;
        let answers = request.into_inner().map(move |item| Ok(visit.message(item?.n)));
        Ok(Response::new(Box::pin(answers)))
    }
}
