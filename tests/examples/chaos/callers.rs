//! This file knows the callers: what they ask, how long they wait, and how each call ended.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{Random, SmallRng};
use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::poll_n;
use evenkeel_tonic::Resilient;
use futures_util::stream::{Stream, iter};
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};

type Client = LabClient<Resilient<Channel>>;

/// How calls ended.
#[derive(Debug)]
pub(crate) struct Tally {
    left: AtomicU64,
    walked_away: AtomicU64,
    /// By status code.
    by_code: [AtomicU64; 17],
}

impl Tally {
    pub(crate) fn of(calls: u64) -> Self {
        Self {
            left: AtomicU64::new(calls),
            walked_away: AtomicU64::new(0),
            by_code: Default::default(),
        }
    }

    /// One more call, if there is one left to make.
    fn take(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn note(&self, end: Option<Result<(), Status>>) {
        let place = match end {
            None => &self.walked_away,
            Some(Ok(())) => &self.by_code[0],
            Some(Err(status)) => &self.by_code[status.code() as usize],
        };
        place.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self) -> u64 {
        let ended = self.by_code.iter().chain([&self.walked_away]);
        ended.map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "walked away: {}", self.walked_away.load(Ordering::Relaxed))?;
        for (code, count) in (0..).zip(&self.by_code) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                write!(f, ", {:?}: {count}", Code::from_i32(code))?;
            }
        }
        Ok(())
    }
}

/// Calls one after the other until there are enough.
pub(crate) async fn call(channel: Resilient<Channel>, seed: u32, tally: Arc<Tally>) {
    let mut rng = SmallRng::seeded(seed);
    let client = LabClient::new(channel);
    while tally.take() {
        let call = one(client.clone(), rng.next_u32());
        let end = match rng.next_u32() % 16 {
            // Walks away at a poll, or at a time.
            0 => poll_n(rng.next_u32() as usize % 5, call).await,
            1 => timeout(Duration::from_micros((rng.next_u32() % 4_000).into()), call).await.ok(),
            _ => Some(call.await),
        };
        tally.note(end);
    }
}

async fn one(mut client: Client, draw: u32) -> Result<(), Status> {
    let message = Msg { blob: vec![7; draw as usize % 200], ..Msg::default() };
    let mut plain = Request::new(message.clone());
    if draw.is_multiple_of(5) {
        plain.set_timeout(Duration::from_millis((draw % 100).into()));
    }
    match draw % 16 {
        0 => client.charge(plain).await.map(drop),
        1 => client.put(plain).await.map(drop),
        2 => read(client.export(plain).await?.into_inner()).await,
        3 => client.upload(three(message)).await.map(drop),
        4 => read(client.chat(three(message)).await?.into_inner()).await,
        _ => client.echo(plain).await.map(drop),
    }
}

fn three(message: Msg) -> impl Stream<Item = Msg> + Send + 'static {
    iter(core::iter::repeat_n(message, 3))
}

async fn read(mut items: Streaming<Msg>) -> Result<(), Status> {
    while items.message().await?.is_some() {}
    Ok(())
}
