//! This file knows the callers, who ask again as soon as they are answered.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tokio::task::JoinSet;
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

use crate::Result;
use crate::pb::GetRequest;
use crate::pb::orders_client::OrdersClient;

pub(crate) struct Callers {
    tasks: JoinSet<Noticed>,
    enough: Arc<AtomicBool>,
}

/// What callers noticed.
#[derive(Default)]
pub(crate) struct Noticed {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    /// Of one of the failed ones.
    pub(crate) error: Option<String>,
    /// A member was told that it had more time than its caller gave.
    pub(crate) widened: u64,
}

impl Callers {
    pub(crate) async fn start(number: u64, gateway: SocketAddr) -> Result<Self> {
        let channel = Endpoint::from_shared(format!("http://{gateway}"))?.connect().await?;
        let mut callers = Self { tasks: JoinSet::new(), enough: Arc::default() };
        for caller in 0..number {
            callers.tasks.spawn(ask(caller, channel.clone(), Arc::clone(&callers.enough)));
        }
        Ok(callers)
    }

    pub(crate) async fn stop(mut self) -> Noticed {
        self.enough.store(true, Ordering::Relaxed);
        let mut all = Noticed::default();
        while let Some(Ok(one)) = self.tasks.join_next().await {
            all.calls += one.calls;
            all.failed += one.failed;
            all.widened += one.widened;
            all.error = all.error.or(one.error);
        }
        all
    }
}

async fn ask(caller: u64, channel: Channel, enough: Arc<AtomicBool>) -> Noticed {
    let mut client = OrdersClient::new(channel);
    let mut noticed = Noticed::default();
    while !enough.load(Ordering::Relaxed) {
        let mut request = Request::new(GetRequest { id: caller });
        request.set_timeout(LIMIT);
        noticed.calls += 1;
        match client.get(request).await {
            Ok(order) => {
                let parts = order.into_inner().parts;
                let most = parts.iter().map(|part| part.millis_left).max().unwrap_or(u32::MAX);
                noticed.widened += u64::from(u128::from(most) > LIMIT.as_millis());
            }
            Err(status) => {
                noticed.failed += 1;
                noticed.error = Some(format!("{:?}: {}", status.code(), status.message()));
            }
        }
        // As a caller with something else to do.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    noticed
}

const LIMIT: Duration = Duration::from_millis(4_000);
