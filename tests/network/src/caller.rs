//! This file knows one call, whoever makes it: its request, its answers, its end.

use core::time::Duration;

use crate::pb::Msg;
use crate::pb::lab_client::LabClient;
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

/// Makes a call and reads all of its answer; says who gave it.
pub(crate) async fn make(
    mut client: Client,
    method: Method,
    wish: Option<Duration>,
    open: Open,
) -> Result<&'static str, Status> {
    let result = answer(&mut client, method, wish, &open).await;
    open.end(result.as_ref().map(drop));
    result
}

async fn answer(
    client: &mut Client,
    method: Method,
    wish: Option<Duration>,
    open: &Open,
) -> Result<&'static str, Status> {
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
    Ok(note(whole.get_ref(), open))
}

async fn read(mut items: Streaming<Msg>, open: &Open) -> Result<&'static str, Status> {
    let mut from = NOBODY;
    while let Some(item) = items.message().await? {
        from = note(&item, open);
    }
    Ok(from)
}

fn note(answer: &Msg, open: &Open) -> &'static str {
    let [first, second, third] = BACKENDS;
    match origin(answer, &[first, second, third, GATEWAY]) {
        Some(from) => {
            open.answered(from, answer.n);
            from.host
        }
        None => {
            open.stranger(&answer.text);
            NOBODY
        }
    }
}

const NOBODY: &str = "nobody";
