//! This file knows the callers: what they ask, how long they wait, and how each call ended.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{Clock, Micros, Random, SmallRng};
use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::poll_n;
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::Resilient;
use futures_util::stream::{Stream, iter};
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};

type Client = LabClient<Resilient<Channel>>;

/// What a call may take unless its caller says less.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);

/// How calls ended.
#[derive(Debug)]
pub(crate) struct Tally {
    left: AtomicU64,
    walked_away: AtomicU64,
    /// By status code.
    by_code: [AtomicU64; 17],
    /// How long after its deadline a call ended, in microseconds, where that was longest.
    overdue: AtomicU64,
}

impl Tally {
    pub(crate) fn of(calls: u64) -> Self {
        Self {
            left: AtomicU64::new(calls),
            walked_away: AtomicU64::new(0),
            by_code: Default::default(),
            overdue: AtomicU64::new(0),
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

    fn took(&self, span: Micros, limit: Duration) {
        let overdue = span.as_duration().saturating_sub(limit).as_micros();
        self.overdue.fetch_max(overdue.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The longest that a call ended after its deadline; of those whose callers waited for the end.
    pub(crate) fn overdue(&self) -> Duration {
        Duration::from_micros(self.overdue.load(Ordering::Relaxed))
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
        let (draw, began) = (rng.next_u32(), TokioClock.now());
        let call = one(client.clone(), draw);
        let end = match rng.next_u32() % 16 {
            // Walks away at a poll, or at a time.
            0 => poll_n(rng.next_u32() as usize % 5, call).await,
            1 => timeout(Duration::from_micros((rng.next_u32() % 4_000).into()), call).await.ok(),
            _ => Some(call.await),
        };
        if end.is_some() {
            tally.took(TokioClock.now().since(began), own_limit(draw).unwrap_or(LIMIT));
        }
        tally.note(end);
    }
}

/// The limit that a caller sets for a call.
fn own_limit(draw: u32) -> Option<Duration> {
    let streams = matches!(draw % 16, 3 | 4);
    (draw.is_multiple_of(5) && !streams).then(|| Duration::from_millis((draw % 100).into()))
}

async fn one(mut client: Client, draw: u32) -> Result<(), Status> {
    let message = Msg { blob: vec![7; draw as usize % 200], ..Msg::default() };
    let mut plain = Request::new(message.clone());
    if let Some(limit) = own_limit(draw) {
        plain.set_timeout(limit);
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
