//! This file knows what a request finds on a server whose layer opens budgets.
//!
//! Server and client are tonic's own, with generated code, over pipes in memory. Time is virtual
//! and passes only in sleeps, so what is left of a deadline is compared to the microsecond.

#[expect(dead_code, reason = "a generated client and server of more methods than are needed")]
#[path = "../../examples/payments_lab/pb.rs"]
mod pb;

mod body;
mod by_hand;
mod chain;
mod pipes;
mod refused;
mod stream;
mod unary;

use core::future::Future;
use core::pin::Pin;
use core::time::Duration;

use evenkeel_tokio::core::Clock;
use evenkeel_tokio::{TokioClock, current_budget};
use evenkeel_tonic::OpenBudgetLayer;
use pb::payments_server::{Payments, PaymentsServer};
use pb::{
    AuditReply, AuditRequest, AuthorizeRequest, ChargeRequest, Entry, ExportRequest, FetchReply,
    FetchRequest, ImportSummary, Quote, QuoteRequest, Receipt,
};
use pipes::Address;
use tokio_stream::Stream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

pub(crate) const EXPORT: &str = "/payments.v1.Payments/Export";
pub(crate) const FETCH: &str = "/payments.v1.Payments/Fetch";

/// A server with this layer around everything.
pub(crate) fn serve_with(layer: OpenBudgetLayer, lab: Lab) -> Address {
    pipes::serve(|incoming| {
        let service = PaymentsServer::new(lab);
        Server::builder().layer(layer).add_service(service).serve_with_incoming(incoming)
    })
}

/// A server that only opens budgets.
pub(crate) fn serve(lab: Lab) -> Address {
    serve_with(OpenBudgetLayer::new(), lab)
}

/// What is left of the budget of the current task.
pub(crate) fn seconds_left() -> Option<f64> {
    let left = current_budget()?.remaining(TokioClock.now());
    Some(left.as_duration().as_secs_f64())
}

/// A reply that says what the handler finds.
pub(crate) fn found() -> FetchReply {
    FetchReply { seconds_left: seconds_left(), ..FetchReply::default() }
}

pub(crate) async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// A message with this `grpc-timeout`, as it stands.
pub(crate) fn with_timeout<T>(timeout: &'static str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("grpc-timeout", timeout.parse().expect("ASCII"));
    request
}

type Handled<T> = Pin<Box<dyn Future<Output = Result<T, Status>> + Send>>;
type Entries = Pin<Box<dyn Stream<Item = Result<Entry, Status>> + Send>>;

/// A payment service of which one method is written by the test.
pub(crate) struct Lab {
    fetch: Box<dyn Fn(Request<FetchRequest>) -> Handled<FetchReply> + Send + Sync>,
    export: Box<dyn Fn() -> Entries + Send + Sync>,
    import: Box<dyn Fn(Streaming<Entry>) -> Handled<ImportSummary> + Send + Sync>,
}

impl Lab {
    /// One in which nothing is written.
    pub(crate) fn new() -> Self {
        Self {
            fetch: Box::new(|_| Box::pin(async { Err(Status::unimplemented("fetch")) })),
            export: Box::new(|| Box::pin(tokio_stream::empty())),
            import: Box::new(|_| Box::pin(async { Err(Status::unimplemented("import")) })),
        }
    }

    /// `Fetch`, which is unary.
    pub(crate) fn fetch<F>(
        fetch: impl Fn(Request<FetchRequest>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<FetchReply, Status>> + Send + 'static,
    {
        Self { fetch: Box::new(move |request| Box::pin(fetch(request))), ..Self::new() }
    }

    /// `Export`, which streams its response.
    pub(crate) fn export<S>(export: impl Fn() -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = Result<Entry, Status>> + Send + 'static,
    {
        Self { export: Box::new(move || Box::pin(export())), ..Self::new() }
    }

    /// `Import`, which reads a stream.
    pub(crate) fn import<F>(import: impl Fn(Streaming<Entry>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ImportSummary, Status>> + Send + 'static,
    {
        Self { import: Box::new(move |entries| Box::pin(import(entries))), ..Self::new() }
    }
}

#[tonic::async_trait]
impl Payments for Lab {
    type ExportStream = Entries;
    type WatchStream = Entries;

    async fn fetch(&self, request: Request<FetchRequest>) -> Result<Response<FetchReply>, Status> {
        (self.fetch)(request).await.map(Response::new)
    }

    async fn export(&self, _: Request<ExportRequest>) -> Result<Response<Entries>, Status> {
        Ok(Response::new((self.export)()))
    }

    async fn import(
        &self,
        entries: Request<Streaming<Entry>>,
    ) -> Result<Response<ImportSummary>, Status> {
        (self.import)(entries.into_inner()).await.map(Response::new)
    }

    async fn get_quote(&self, _: Request<QuoteRequest>) -> Result<Response<Quote>, Status> {
        Err(Status::unimplemented("get_quote"))
    }

    async fn charge(&self, _: Request<ChargeRequest>) -> Result<Response<Receipt>, Status> {
        Err(Status::unimplemented("charge"))
    }

    async fn authorize(&self, _: Request<AuthorizeRequest>) -> Result<Response<Receipt>, Status> {
        Err(Status::unimplemented("authorize"))
    }

    async fn audit(&self, _: Request<AuditRequest>) -> Result<Response<AuditReply>, Status> {
        Err(Status::unimplemented("audit"))
    }

    async fn watch(&self, _: Request<Streaming<Entry>>) -> Result<Response<Entries>, Status> {
        Err(Status::unimplemented("watch"))
    }
}
