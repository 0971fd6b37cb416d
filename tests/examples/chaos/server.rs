//! This file knows a server that answers everything, and is told nothing of what is between it and
//! its callers.

use core::net::SocketAddr;
use core::pin::Pin;

use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_server::{Lab, LabServer};
use futures_util::stream::{Stream, StreamExt, iter};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// Serves in the background of the runtime it is called in.
pub(crate) async fn start() -> Result<SocketAddr, crate::Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let (_, health) = tonic_health::server::health_reporter();
    let incoming = futures_util::stream::unfold(listener, |listener| async {
        let accepted = listener.accept().await.map(|(stream, _)| {
            _ = stream.set_nodelay(true);
            stream
        });
        Some((accepted, listener))
    });
    let server = Server::builder().add_service(LabServer::new(Answers)).add_service(health);
    tokio::spawn(server.serve_with_incoming(incoming));
    Ok(address)
}

struct Answers;

type Items = Pin<Box<dyn Stream<Item = Result<Msg, Status>> + Send>>;

#[tonic::async_trait]
impl Lab for Answers {
    type ExportStream = Items;
    type ChatStream = Items;

    async fn echo(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn put(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn charge(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn export(&self, request: Request<Msg>) -> Result<Response<Items>, Status> {
        let items = iter(core::iter::repeat_n(request.into_inner(), 5)).map(Ok);
        Ok(Response::new(Box::pin(items)))
    }

    async fn upload(&self, request: Request<Streaming<Msg>>) -> Result<Response<Msg>, Status> {
        let mut items = request.into_inner();
        while items.message().await?.is_some() {}
        Err(Status::unavailable("busy"))
    }

    async fn chat(&self, request: Request<Streaming<Msg>>) -> Result<Response<Items>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}
