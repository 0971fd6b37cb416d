//! This file knows a server on loopback that fails two requests of three.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::pb::parts_server::{Parts, PartsServer};
use crate::pb::{LookRequest, Part};

pub(crate) struct Shaky {
    address: SocketAddr,
    asked: Arc<AtomicU64>,
}

pub(crate) async fn start() -> io::Result<Shaky> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let shaky = Shaky { address: listener.local_addr()?, asked: Arc::default() };
    let service = PartsServer::new(Look(Arc::clone(&shaky.asked)));
    tokio::spawn(
        Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    Ok(shaky)
}

impl Shaky {
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests came since the last time.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

struct Look(Arc<AtomicU64>);

#[tonic::async_trait]
impl Parts for Look {
    async fn look(&self, _: Request<LookRequest>) -> Result<Response<Part>, Status> {
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Err(Status::unavailable("not now")),
            _ => Ok(Response::new(Part { member: "here you are".into(), millis_left: 0 })),
        }
    }
}
