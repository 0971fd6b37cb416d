//! This file knows one call, whoever makes it: its request, its answers, its end.

use core::time::Duration;

use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tonic::{Kit, Resilient};
use futures_util::stream::iter;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::book::Open;
use crate::method::Method;
use crate::plan::{BACKENDS, GATEWAY};
use crate::visit::{origin, request};

pub(crate) type Client = LabClient<Resilient<Channel>>;

pub(crate) fn client(kit: &Kit) -> Client {
    LabClient::new(kit.channel())
}

/// Makes a call and reads all of its answer.
pub(crate) async fn make(
    mut client: Client,
    method: Method,
    wish: Option<Duration>,
    open: Open,
) -> Result<(), Status> {
    let result = answer(&mut client, method, wish, &open).await;
    open.end(result.as_ref().map(|()| ()));
    result
}

async fn answer(
    client: &mut Client,
    method: Method,
    wish: Option<Duration>,
    open: &Open,
) -> Result<(), Status> {
    let plain = || request(open.call, wish, Msg::default());
    let parts = || request(open.call, wish, iter((1..=3).map(|n| Msg { n, ..Msg::default() })));
    let whole = match method {
        Method::Charge => client.charge(plain()).await?,
        Method::Chat => return read(client.chat(parts()).await?.into_inner(), open).await,
        Method::Echo => client.echo(plain()).await?,
        Method::Export => return read(client.export(plain()).await?.into_inner(), open).await,
        Method::Put => client.put(plain()).await?,
        Method::Upload => client.upload(parts()).await?,
    };
    note(whole.get_ref(), open);
    Ok(())
}

async fn read(mut items: Streaming<Msg>, open: &Open) -> Result<(), Status> {
    while let Some(item) = items.message().await? {
        note(&item, open);
    }
    Ok(())
}

fn note(answer: &Msg, open: &Open) {
    let [first, second, third] = BACKENDS;
    match origin(answer, &[first, second, third, GATEWAY]) {
        Some(from) => open.answered(from, answer.n),
        None => open.stranger(&answer.text),
    }
}
