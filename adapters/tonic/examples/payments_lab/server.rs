//! This file knows a payments server that misbehaves to order, and counts what it really did.

use core::net::SocketAddr;
use core::pin::Pin;
use core::time::Duration;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio_stream::Stream;
use tonic::transport::Server;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::pb::payments_server::{Payments, PaymentsServer};
use crate::pb::{
    AuditReply, AuditRequest, AuthorizeRequest, ChargeRequest, Entry, ExportRequest, FetchReply,
    FetchRequest, ImportSummary, Quote, QuoteRequest, Receipt,
};

/// What the server does with one attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behaviour {
    /// Fails before the handler has done anything.
    FailBefore(Code),
    /// Does the work, and fails then.
    FailAfter(Code),
    /// Takes this long, and fails before it has done anything.
    FailLate(Duration, Code),
    /// Never answers.
    Hang,
    /// Does the work, and its connections break before the answer is out.
    KillAfter,
    /// Works.
    Work,
    /// Works, and takes this long.
    WorkSlowly(Duration),
}

/// What the server is told to do, and what it saw.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// One for each attempt; the last one stays.
    pub(crate) behaviours: Vec<Behaviour>,
    /// Attempts that reached the server.
    pub(crate) attempts: u32,
    /// Times money was taken.
    pub(crate) charges: u32,
    /// What was left of the caller's time when each attempt arrived.
    pub(crate) seconds_left: Vec<f64>,
    connections: Vec<TcpStream>,
}

/// A server on a port of its own, for one case.
#[derive(Clone, Debug)]
pub(crate) struct Lab {
    script: Arc<Mutex<Script>>,
    address: SocketAddr,
}

impl Lab {
    /// Reserves a port on which nothing listens yet.
    pub(crate) fn reserved(behaviours: &[Behaviour]) -> std::io::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let script = Script { behaviours: behaviours.to_vec(), ..Script::default() };
        Ok(Self { script: Arc::new(Mutex::new(script)), address })
    }

    /// Listens and serves until the process ends.
    pub(crate) fn started(behaviours: &[Behaviour]) -> std::io::Result<Self> {
        let lab = Self::reserved(behaviours)?;
        lab.start()?;
        Ok(lab)
    }

    /// Begins to listen.
    pub(crate) fn start(&self) -> std::io::Result<()> {
        let listener = TcpListener::bind(self.address)?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let script = Arc::clone(&self.script);
        let incoming = async_incoming(listener, Arc::clone(&script));
        let server = Server::builder().add_service(PaymentsServer::new(Service { script }));
        tokio::spawn(server.serve_with_incoming(incoming));
        Ok(())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        locked(&self.script)
    }
}

/// Accepts connections and keeps a second handle to each, to be able to break them.
fn async_incoming(
    listener: tokio::net::TcpListener,
    script: Arc<Mutex<Script>>,
) -> impl Stream<Item = std::io::Result<tokio::net::TcpStream>> {
    let accepted = tokio_stream::wrappers::TcpListenerStream::new(listener);
    tokio_stream::StreamExt::map(accepted, move |stream| {
        let stream = stream?;
        stream.set_nodelay(true)?;
        let stream = stream.into_std()?;
        locked(&script).connections.push(stream.try_clone()?);
        tokio::net::TcpStream::from_std(stream)
    })
}

#[derive(Debug)]
struct Service {
    script: Arc<Mutex<Script>>,
}

impl Service {
    /// Counts the attempt, and misbehaves as told. `work` is what the handler is there for.
    async fn attempt<T, R>(
        &self,
        request: &Request<T>,
        work: impl FnOnce(&mut Script) -> R,
    ) -> Result<R, Status> {
        let behaviour = {
            let mut script = locked(&self.script);
            script.attempts += 1;
            if let Some(left) = seconds_left(request) {
                script.seconds_left.push(left);
            }
            let index = script.attempts as usize - 1;
            let behaviours = &script.behaviours;
            behaviours.get(index).or_else(|| behaviours.last()).copied().unwrap_or(Behaviour::Work)
        };
        match behaviour {
            Behaviour::FailBefore(code) => Err(failure(code)),
            Behaviour::FailAfter(code) => {
                work(&mut locked(&self.script));
                Err(failure(code))
            }
            Behaviour::FailLate(span, code) => {
                tokio::time::sleep(span).await;
                Err(failure(code))
            }
            Behaviour::Hang => core::future::pending().await,
            Behaviour::KillAfter => {
                work(&mut locked(&self.script));
                for connection in locked(&self.script).connections.drain(..) {
                    _ = connection.shutdown(Shutdown::Both);
                }
                core::future::pending().await
            }
            Behaviour::Work => Ok(work(&mut locked(&self.script))),
            Behaviour::WorkSlowly(span) => {
                tokio::time::sleep(span).await;
                Ok(work(&mut locked(&self.script)))
            }
        }
    }
}

#[tonic::async_trait]
impl Payments for Service {
    async fn get_quote(&self, request: Request<QuoteRequest>) -> Result<Response<Quote>, Status> {
        self.attempt(&request, |_| ()).await?;
        let QuoteRequest { request_id, amount_cents, currency } = request.into_inner();
        let fee_cents = amount_cents / 50;
        let total_cents = amount_cents + fee_cents;
        Ok(Response::new(Quote { request_id, total_cents, fee_cents, currency }))
    }

    async fn charge(&self, request: Request<ChargeRequest>) -> Result<Response<Receipt>, Status> {
        self.attempt(&request, |script| script.charges += 1).await?;
        Ok(Response::new(receipt(request.into_inner().request_id)))
    }

    async fn authorize(
        &self,
        request: Request<AuthorizeRequest>,
    ) -> Result<Response<Receipt>, Status> {
        self.attempt(&request, |_| ()).await?;
        Ok(Response::new(receipt(request.into_inner().request_id)))
    }

    async fn fetch(&self, request: Request<FetchRequest>) -> Result<Response<FetchReply>, Status> {
        let seconds_left = seconds_left(&request);
        self.attempt(&request, |_| ()).await?;
        let payment_id = request.into_inner().payment_id;
        let reply = FetchReply { payment_id, seconds_left, ..FetchReply::default() };
        Ok(Response::new(reply))
    }

    async fn audit(&self, request: Request<AuditRequest>) -> Result<Response<AuditReply>, Status> {
        let seconds_left = seconds_left(&request);
        self.attempt(&request, |_| ()).await?;
        Ok(Response::new(AuditReply { approved: true, note: String::new(), seconds_left }))
    }

    type ExportStream = Entries;

    /// Five entries; a failing attempt breaks at the third.
    async fn export(&self, request: Request<ExportRequest>) -> Result<Response<Entries>, Status> {
        let broken = self.attempt(&request, |_| ()).await.err();
        let account = request.into_inner().account;
        let entries = (1..=5).map(move |seq| {
            let broken = broken.clone().filter(|_| seq >= 3);
            let account = account.clone();
            broken.map_or(Ok(Entry { seq, account, ..Entry::default() }), Err)
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(entries))))
    }

    async fn import(
        &self,
        request: Request<Streaming<Entry>>,
    ) -> Result<Response<ImportSummary>, Status> {
        self.attempt(&request, |_| ()).await?;
        let (mut stream, mut summary) = (request.into_inner(), ImportSummary::default());
        while let Some(entry) = stream.message().await? {
            summary.entries += 1;
            summary.total_cents += entry.amount_cents;
        }
        Ok(Response::new(summary))
    }

    type WatchStream = Entries;

    async fn watch(&self, request: Request<Streaming<Entry>>) -> Result<Response<Entries>, Status> {
        self.attempt(&request, |_| ()).await?;
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

type Entries = Pin<Box<dyn Stream<Item = Result<Entry, Status>> + Send>>;

fn receipt(request_id: String) -> Receipt {
    Receipt { payment_id: format!("payment of {request_id}"), request_id, executions: 1 }
}

fn failure(code: Code) -> Status {
    Status::new(code, "the lab's server was told to fail")
}

/// The `grpc-timeout` an attempt came with. The unit is the last character.
fn seconds_left<T>(request: &Request<T>) -> Option<f64> {
    let value = request.metadata().get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let seconds = match unit {
        "H" => 3600.0,
        "M" => 60.0,
        "S" => 1.0,
        "m" => 1e-3,
        "u" => 1e-6,
        "n" => 1e-9,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * seconds)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
