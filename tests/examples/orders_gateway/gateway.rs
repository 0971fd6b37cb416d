//! This file knows the gateway: it receives, and asks three upstreams with what its caller left it.

use core::net::SocketAddr;

use evenkeel_tonic::{Factory, OpenBudgetLayer, Resilient};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};

use crate::Result;
use crate::pb::orders_server::{Orders, OrdersServer};
use crate::pb::parts_client::PartsClient;
use crate::pb::{GetRequest, LookRequest, Order, Part};

/// Starts it on loopback. Its layer opens the budget of each request; that is all the deadline
/// propagation there is to write.
pub(crate) async fn start(factory: &Factory) -> Result<SocketAddr> {
    let gateway = Gateway {
        stock: factory.channel("stock")?,
        prices: factory.channel("prices")?,
        parcels: factory.channel("parcels")?,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(
        Server::builder()
            .layer(OpenBudgetLayer::new())
            .add_service(OrdersServer::new(gateway))
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    Ok(address)
}

struct Gateway {
    stock: Resilient<Channel>,
    prices: Resilient<Channel>,
    parcels: Resilient<Channel>,
}

#[tonic::async_trait]
impl Orders for Gateway {
    async fn get(&self, request: Request<GetRequest>) -> Result<Response<Order>, Status> {
        let id = request.into_inner().id;
        let (stock, prices, parcels) = tokio::try_join!(
            look(&self.stock, id),
            look(&self.prices, id),
            look(&self.parcels, id)
        )?;
        Ok(Response::new(Order { id, parts: vec![stock, prices, parcels] }))
    }
}

/// A client for each request costs a clone; all of them balance together.
async fn look(upstream: &Resilient<Channel>, id: u64) -> Result<Part, Status> {
    let mut client = PartsClient::new(upstream.clone());
    Ok(client.look(LookRequest { id }).await?.into_inner())
}
