//! This file knows a checker, the peers it asks, and what was seen of both.

use core::future::Future;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use evenkeel_tests::{Network, Peer, Reply};
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::core::{Clock, HealthPolicy, Instant};
use evenkeel_tonic::health::{HealthChecker, HealthCheckerBuilder};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Channel;
use tower::Service;

/// A checker on a network of memory. A peer is made and given replies by its name.
pub(crate) struct Lab {
    pub(crate) net: Network,
    pub(crate) checker: HealthChecker,
    told: Arc<Mutex<Vec<(u64, String, bool)>>>,
    channels: Channels,
    began: Instant,
}

impl Lab {
    /// With a callback that writes down what it is told, and when.
    pub(crate) fn new(
        configure: impl FnOnce(HealthCheckerBuilder) -> HealthCheckerBuilder,
    ) -> Self {
        let (net, channels) = (Network::new(), Channels::default());
        let (began, told) = (TokioClock.now(), Arc::new(Mutex::new(Vec::new())));
        let note = Arc::clone(&told);
        let builder = HealthChecker::builder(channels.maker(&net));
        let builder = builder.on_status_change(move |target, healthy| {
            note.lock().unwrap().push((since(began), target.to_owned(), healthy));
        });
        Self { net, checker: configure(builder).build(), told, channels, began }
    }

    /// One that asks `a` every `interval` ms, at most 300 s apart, and has been started; and what
    /// `a` replies, the last for ever.
    pub(crate) fn asking(interval: u64, replies: impl IntoIterator<Item = Reply>) -> (Self, Peer) {
        let lab = Self::new(|builder| builder.targets(["a"]).policy(every(interval)));
        let peer = lab.peer("a", replies);
        lab.checker.start();
        (lab, peer)
    }

    /// A peer that listens.
    pub(crate) fn peer(&self, name: &str, replies: impl IntoIterator<Item = Reply>) -> Peer {
        Peer::new(replies).listen(&self.net, name)
    }

    /// What the callback was told: after how many milliseconds, of whom, and healthy or not.
    pub(crate) fn told(&self) -> Vec<(u64, String, bool)> {
        self.told.lock().unwrap().clone()
    }

    /// The same of a single target.
    pub(crate) fn told_of(&self, target: &str) -> Vec<(u64, bool)> {
        let told = self.told();
        told.into_iter().filter(|told| told.1 == target).map(|told| (told.0, told.2)).collect()
    }

    /// How many channels were made for `target`, and how many of them are left.
    pub(crate) fn channels(&self, target: &str) -> (usize, usize) {
        self.channels.count(target)
    }

    /// Milliseconds since the beginning.
    pub(crate) fn now(&self) -> u64 {
        since(self.began)
    }
}

/// The channels that were made, each for as long as anybody holds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channels(Arc<Mutex<HashMap<String, Vec<Weak<()>>>>>);

impl Channels {
    pub(crate) fn maker(
        &self,
        net: &Network,
    ) -> impl Fn(&str) -> Result<Counted, Status> + Send + Sync + use<> {
        let (net, channels) = (net.clone(), self.clone());
        move |target| {
            let held = Arc::new(());
            let made = Arc::downgrade(&held);
            channels.0.lock().unwrap().entry(target.to_owned()).or_default().push(made);
            Ok(Counted { channel: net.channel(target), _held: held })
        }
    }

    pub(crate) fn count(&self, target: &str) -> (usize, usize) {
        let channels = self.0.lock().unwrap();
        let Some(channels) = channels.get(target) else { return (0, 0) };
        (channels.len(), channels.iter().filter(|one| one.strong_count() > 0).count())
    }
}

/// A tonic channel that is counted while it lives.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    channel: Channel,
    _held: Arc<()>,
}

impl Service<http::Request<Body>> for Counted {
    type Response = http::Response<Body>;
    type Error = <Channel as Service<http::Request<Body>>>::Error;
    type Future = <Channel as Service<http::Request<Body>>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.channel.call(request)
    }
}

/// Asks every `interval` ms; the other settings are the defaults.
pub(crate) fn every(interval: u64) -> HealthPolicy {
    HealthPolicy::DEFAULT.with_interval(millis(interval)).unwrap()
}

pub(crate) fn serving() -> Reply {
    says(1)
}

pub(crate) fn not_serving() -> Reply {
    says(2)
}

/// An answer with this number in it, whatever it means.
pub(crate) fn says(status: u8) -> Reply {
    Reply::ok(message(status))
}

/// A stream that has said this and stays open.
pub(crate) fn watched(statuses: &[u8]) -> Reply {
    Reply::headers().messages(statuses.iter().map(|status| message(*status)))
}

/// `HealthCheckResponse { status }` on the wire.
fn message(status: u8) -> Vec<u8> {
    vec![0x08, status]
}

/// A failed check.
pub(crate) fn err() -> Reply {
    Reply::status(Status::unavailable("the peer says so"))
}

pub(crate) fn unimplemented() -> Reply {
    Reply::status(Status::unimplemented("no such service"))
}

/// When `peer` was asked, in milliseconds.
pub(crate) fn asked(peer: &Peer) -> Vec<u64> {
    peer.requests().iter().map(|seen| in_millis(seen.at)).collect()
}

/// Passes time, and lets happen what is due at its end.
pub(crate) async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    // More than a dial, a request and an answer take turns; time stands still meanwhile.
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

const TURNS: usize = 100;

/// The output of `future`, and after how many milliseconds it came; an hour at most, so that what
/// never comes is a failure and no silence.
pub(crate) async fn timed<T>(future: impl Future<Output = T>) -> (T, u64) {
    let began = TokioClock.now();
    let output = tokio::time::timeout(Duration::from_secs(3_600), future).await;
    (output.expect("an end within an hour"), since(began))
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn since(began: Instant) -> u64 {
    in_millis(TokioClock.now().since(began).as_duration())
}

/// Exact, because a test that rounds cannot see a rounding fault.
fn in_millis(span: Duration) -> u64 {
    assert_eq!(span.as_nanos() % 1_000_000, 0, "{span:?} are no whole milliseconds");
    u64::try_from(span.as_millis()).unwrap()
}
