//! This file knows our server: handlers that say what they were given, behind the layer under test.

use std::sync::{Arc, Mutex};

use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::pb::lab_server::{Lab as Handlers, LabServer};
use evenkeel_tokio::{TokioClock, current_budget};
use evenkeel_tonic::core::Clock;
use evenkeel_tonic::{OpenBudgetLayer, Resilient};
use futures_util::stream::BoxStream;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status, Streaming};

use crate::lab::says;

/// Our server's handlers.
#[derive(Clone, Default)]
pub(crate) struct Ours {
    /// `grpc-previous-rpc-attempts` of each request.
    pub(crate) previous: Arc<Mutex<Vec<Option<String>>>>,
    /// How many handlers were dropped before their end.
    pub(crate) dropped: Arc<Mutex<usize>>,
    /// Where `Put` goes on to.
    pub(crate) next: Option<LabClient<Resilient<Channel>>>,
}

impl Ours {
    fn note<T>(&self, request: &Request<T>) -> usize {
        let previous = request.metadata().get("grpc-previous-rpc-attempts");
        let mut seen = self.previous.lock().unwrap();
        seen.push(previous.map(|value| value.to_str().unwrap().to_owned()));
        seen.len()
    }

    pub(crate) fn seen(&self) -> Vec<Option<String>> {
        self.previous.lock().unwrap().clone()
    }
}

/// Counts itself unless it is defused.
struct Guard(Option<Arc<Mutex<usize>>>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            *dropped.lock().unwrap() += 1;
        }
    }
}

#[tonic::async_trait]
impl Handlers for Ours {
    /// Answers what is left of its budget, in milliseconds.
    async fn echo(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        self.note(&request);
        let left = current_budget().map(|budget| budget.remaining(TokioClock.now()));
        let left = left.map(|left| left.as_duration().as_millis().to_string());
        Ok(Response::new(says(left.unwrap_or_else(|| "none".to_owned()))))
    }

    /// Asks the next server.
    async fn put(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        let mut next = self.next.clone().expect("a next server");
        next.echo(request.into_inner()).await
    }

    /// Fails twice and asks for the wait that the request names, then answers.
    async fn charge(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        if self.note(&request) > 2 {
            return Ok(Response::new(says("there")));
        }
        let mut status = Status::unavailable("not yet");
        let wait = &request.get_ref().text;
        if !wait.is_empty() {
            let wait = wait.parse().unwrap();
            status.metadata_mut().insert("grpc-retry-pushback-ms", wait);
        }
        Err(status)
    }

    type ExportStream = BoxStream<'static, Result<Msg, Status>>;

    /// Never ends.
    async fn export(&self, _: Request<Msg>) -> Result<Response<Self::ExportStream>, Status> {
        let _guard = Guard(Some(Arc::clone(&self.dropped)));
        core::future::pending().await
    }

    async fn upload(&self, request: Request<Streaming<Msg>>) -> Result<Response<Msg>, Status> {
        let (mut messages, mut texts) = (request.into_inner(), Vec::new());
        while let Some(message) = messages.message().await? {
            texts.push(message.text);
        }
        Ok(Response::new(says(texts.join("+"))))
    }

    type ChatStream = BoxStream<'static, Result<Msg, Status>>;

    async fn chat(
        &self,
        request: Request<Streaming<Msg>>,
    ) -> Result<Response<Self::ChatStream>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

/// Serves `ours` behind `layer`; where.
pub(crate) async fn serve(ours: Ours, layer: OpenBudgetLayer) -> u16 {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = incoming.local_addr().unwrap().port();
    let server = Server::builder().layer(layer).add_service(LabServer::new(ours));
    tokio::spawn(server.serve_with_incoming(incoming));
    port
}
