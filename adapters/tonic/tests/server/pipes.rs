//! This file knows how client and server meet without a network.

use core::future::{Future, ready};
use std::io;

use http::{Request, Response, Uri};
use hyper::body::Incoming as Reply;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, service_fn};

use crate::pb::payments_client::PaymentsClient;

/// The connections of one server, as its `serve_with_incoming` takes them.
pub(crate) type Incoming = UnboundedReceiverStream<io::Result<DuplexStream>>;

/// Where a server can be dialled.
#[derive(Clone)]
pub(crate) struct Address(UnboundedSender<io::Result<DuplexStream>>);

/// Starts a server.
pub(crate) fn serve<F>(server: impl FnOnce(Incoming) -> F) -> Address
where
    F: Future<Output = Result<(), tonic::transport::Error>> + Send + 'static,
{
    let (dials, incoming) = unbounded_channel();
    tokio::spawn(server(UnboundedReceiverStream::new(incoming)));
    Address(dials)
}

impl Address {
    /// A client as everybody has it.
    pub(crate) fn client(&self) -> PaymentsClient<Channel> {
        let address = self.clone();
        let endpoint = Endpoint::from_static("http://server.test");
        PaymentsClient::new(
            endpoint.connect_with_connector_lazy(service_fn(move |_| ready(address.dial()))),
        )
    }

    /// A client without tonic's channel, which ends a call itself when the `grpc-timeout` has run
    /// out. What this one reports was said by the server.
    pub(crate) async fn patient_client(
        &self,
    ) -> PaymentsClient<
        impl Service<Request<Body>, Response = Response<Reply>, Error = hyper::Error, Future: Send>,
    > {
        let io = self.dial().expect("a server");
        let (requests, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
        tokio::spawn(connection);
        let service = service_fn(move |request| requests.clone().send_request(request));
        let origin = Uri::from_static("http://server.test");
        PaymentsClient::with_origin(service, origin)
    }

    fn dial(&self) -> io::Result<TokioIo<DuplexStream>> {
        let (client, server) = duplex(64 * 1024);
        self.0.send(Ok(server)).map_err(|_| io::ErrorKind::ConnectionRefused)?;
        Ok(TokioIo::new(client))
    }
}
