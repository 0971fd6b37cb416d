//! This file knows a server that asks other servers: its calls live on what its caller left it.

use core::time::Duration;

use crate::pb::Msg;
use crate::pb::lab_server::{Lab, LabServer};
use evenkeel_tonic::Kit;
use futures_util::stream::{StreamExt, unfold};
use tonic::{Request, Response, Status, Streaming};

use crate::backend::{Answers, Nature, serve};
use crate::book::{Book, Open};
use crate::caller::{Client, client, make};
use crate::kits::{GATEWAY_TIMEOUT, Taste};
use crate::method::Method;
use crate::plan::{GATEWAY, ITEMS};
use crate::socket::Dialer;
use crate::visit::Visit;
use crate::watch::watch;

/// One life of the gateway.
#[derive(Clone)]
pub(crate) struct Gateway {
    client: Client,
    life: u32,
    book: Book,
}

impl Gateway {
    pub(crate) async fn serve(
        taste: Taste,
        life: u32,
        book: Book,
        nature: Nature,
    ) -> turmoil::Result {
        let dialer = Dialer::of(GATEWAY, book.clone(), nature.clone());
        let kit: Kit = taste.gateway(dialer)?;
        let lab = LabServer::new(Self { client: client(&kit), life, book: book.clone() });
        tokio::select! {
            biased;
            served = serve(GATEWAY, &book, &nature, lab) => served,
            never = watch(GATEWAY, &kit, &book) => match never {},
        }
    }

    fn visit<T>(&self, request: &Request<T>) -> Result<Visit, Status> {
        Visit::of(&self.book, GATEWAY, self.life, request)
    }

    /// A call of ours for the one of `visit`. The floor of a budget is the one thing that may
    /// exceed what the caller left.
    fn begin(&self, visit: &Visit, method: Method) -> Open {
        let left = visit.timeout.map_or(GATEWAY_TIMEOUT, |left| left.max(FLOOR));
        let timeout = left.min(GATEWAY_TIMEOUT);
        self.book.begin(GATEWAY, method, timeout, Some(visit.from.call))
    }

    async fn forward(
        &self,
        method: Method,
        request: Request<Msg>,
    ) -> Result<Response<Msg>, Status> {
        let visit = self.visit(&request)?;
        let open = self.begin(&visit, method);
        make(self.client.clone(), method, None, open).await.map_err(told)?;
        Ok(Response::new(visit.message(0)))
    }
}

/// `BudgetPolicy::DEFAULT`'s.
const FLOOR: Duration = Duration::from_millis(100);

/// What a gateway's caller hears of its own calls' ends.
fn told(status: Status) -> Status {
    Status::new(status.code(), format!("behind the gateway: {}", status.message()))
}

#[tonic::async_trait]
impl Lab for Gateway {
    type ExportStream = Answers;
    type ChatStream = Answers;

    async fn echo(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        self.forward(Method::Echo, request).await
    }

    async fn put(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        self.forward(Method::Put, request).await
    }

    async fn charge(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        self.forward(Method::Charge, request).await
    }

    /// A stream each item of which is another stream's end.
    async fn export(&self, request: Request<Msg>) -> Result<Response<Answers>, Status> {
        let visit = self.visit(&request)?;
        let items = unfold((self.clone(), visit, 1), |(gateway, visit, item)| async move {
            if item > ITEMS {
                return None;
            }
            let open = gateway.begin(&visit, Method::Export);
            let answer = make(gateway.client.clone(), Method::Export, None, open).await;
            let answer = answer.map_err(told).map(|_| visit.message(item));
            let next = if answer.is_ok() { item + 1 } else { i32::MAX };
            Some((answer, (gateway, visit, next)))
        });
        Ok(Response::new(Box::pin(items)))
    }

    async fn upload(&self, request: Request<Streaming<Msg>>) -> Result<Response<Msg>, Status> {
        let visit = self.visit(&request)?;
        let mut items = request.into_inner();
        while items.message().await?.is_some() {}
        Ok(Response::new(visit.message(0)))
    }

    async fn chat(&self, request: Request<Streaming<Msg>>) -> Result<Response<Answers>, Status> {
        let visit = self.visit(&request)?;
        let answers = request.into_inner().map(move |item| Ok(visit.message(item?.n)));
        Ok(Response::new(Box::pin(answers)))
    }
}
