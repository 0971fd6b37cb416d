//! This file knows a server that says its name, or fails.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::Result;
use crate::pb::parts_server::{Parts, PartsServer};
use crate::pb::{LookRequest, Part};

pub(crate) struct Backend {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    name: &'static str,
    asked: AtomicU64,
    fails: AtomicBool,
}

impl Backend {
    pub(crate) async fn start(name: &'static str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (asked, fails) = (AtomicU64::new(0), AtomicBool::new(false));
        let state = Arc::new(State { name, asked, fails });
        tokio::spawn(
            Server::builder()
                .add_service(PartsServer::new(Look(Arc::clone(&state))))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        Ok(Self { address, state })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests came.
    pub(crate) fn asked(&self) -> u64 {
        self.state.asked.load(Ordering::Relaxed)
    }

    /// It answers `UNAVAILABLE` from now on.
    pub(crate) fn fails(&self) {
        self.state.fails.store(true, Ordering::Relaxed);
    }
}

struct Look(Arc<State>);

#[tonic::async_trait]
impl Parts for Look {
    async fn look(&self, _: Request<LookRequest>) -> Result<Response<Part>, Status> {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        if self.0.fails.load(Ordering::Relaxed) {
            return Err(Status::unavailable("not now"));
        }
        Ok(Response::new(Part { member: self.0.name.to_owned(), millis_left: 0 }))
    }
}
