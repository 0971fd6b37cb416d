//! This file knows one member of an upstream: a server that can be killed, and that says how it is.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::net::TcpListener as StdListener;
use std::sync::Arc;

use evenkeel_tokio::core::Clock;
use evenkeel_tokio::current_budget;
use evenkeel_tonic::OpenBudgetLayer;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::server::HealthReporter;

use crate::Result;
use crate::pb::parts_server::{Parts, PartsServer};
use crate::pb::{LookRequest, Part};
use crate::report::now;

pub(crate) struct Member {
    name: String,
    address: SocketAddr,
    calls: Arc<AtomicU64>,
    /// With it go all of its connections, as when a process dies.
    running: Option<(Runtime, HealthReporter)>,
}

impl Member {
    pub(crate) fn start(name: String) -> Result<Self> {
        let listener = StdListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let mut member = Self { name, address, calls: Arc::default(), running: None };
        member.serve(listener)?;
        Ok(member)
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How many calls it has had.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Its process dies, and its connections with it.
    pub(crate) fn kill(&mut self) {
        if let Some((runtime, _)) = self.running.take() {
            runtime.shutdown_background();
        }
    }

    /// Another process at the same place.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.serve(StdListener::bind(self.address)?)
    }

    /// Says that it serves, or does not, to whoever watches its health. It answers calls all the
    /// same.
    pub(crate) async fn serving(&self, serving: bool) {
        let Some((_, health)) = &self.running else { return };
        if serving {
            health.set_serving::<PartsServer<Look>>().await;
            health.set_service_status("", tonic_health::ServingStatus::Serving).await;
        } else {
            health.set_service_status("", tonic_health::ServingStatus::NotServing).await;
        }
    }

    /// How long the slowest of fifty questions for its health took, each with its answer.
    pub(crate) async fn round_trip(&self) -> Result<Duration> {
        let channel = Endpoint::from_shared(format!("http://{}", self.address))?.connect().await?;
        let mut health = HealthClient::new(channel);
        let mut slowest = Duration::ZERO;
        for _ in 0..50 {
            let began = now();
            health.check(HealthCheckRequest::default()).await?;
            slowest = slowest.max(now() - began);
        }
        Ok(slowest)
    }

    /// Whether calls come within a minute: pauses between looks at a member that is away grow for as
    /// long as it is, and on a busy machine that is long.
    pub(crate) async fn waits_for_calls(&self) -> bool {
        let before = self.calls();
        for _ in 0..1_200 {
            if self.calls() > before {
                return true;
            }
            sleep(Duration::from_millis(50)).await;
        }
        false
    }

    fn serve(&mut self, listener: StdListener) -> Result<()> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        listener.set_nonblocking(true)?;
        let (reporter, health) = tonic_health::server::health_reporter();
        let look = Look { name: self.name.clone(), calls: Arc::clone(&self.calls) };
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        runtime.spawn(
            Server::builder()
                .layer(OpenBudgetLayer::new())
                .add_service(health)
                .add_service(PartsServer::new(look))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        self.running = Some((runtime, reporter));
        Ok(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) struct Look {
    name: String,
    calls: Arc<AtomicU64>,
}

#[tonic::async_trait]
impl Parts for Look {
    async fn look(&self, _: Request<LookRequest>) -> Result<Response<Part>, Status> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let now = evenkeel_tokio::TokioClock.now();
        let left = current_budget().map_or(0, |budget| budget.remaining(now).as_micros() / 1_000);
        let millis_left = u32::try_from(left).unwrap_or(u32::MAX);
        Ok(Response::new(Part { member: self.name.clone(), millis_left }))
    }
}
