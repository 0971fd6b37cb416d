//! This file knows the rest of a call once its first attempt has failed: the three-armed loop, as
//! an async function in a box. The healthy path never gets here.

use bytes::Bytes;
use evenkeel_tokio::core::{Attempt, Backoff, Clock, Deadline, Growth, Jitter, SmallRng, checked};
use evenkeel_tokio::{TokioClock, fresh_seed, sleep_until, until};
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::attempt::Sending;
use crate::connect::Connectivity;
use crate::error::BoxError;
use crate::flow::{Concluded, Flow, Step};
use crate::held::Held;

/// How a driven call ended.
#[expect(clippy::large_enum_variant, reason = "made once for each call that failed at first")]
pub(crate) enum Answer<S> {
    /// With a whole response, or an error.
    Over(Result<Response<Held>, Status>),
    /// With a response whose body goes on.
    Stream(Response<Body>, Attempt, Flow<S>),
}

/// Drives `flow` on until it has an answer. `unsent` is an attempt that found no connection and
/// waits for one.
pub(crate) async fn drive<S, B>(mut flow: Flow<S>, mut unsent: Option<Attempt>) -> Answer<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut pauses = Pauses::new(flow.driven.upstream().settings().connectivity.clone());
    loop {
        let concluded = match unsent.take() {
            Some(attempt) => match pauses.wait_ready(attempt.deadline()).await {
                Some(()) => send(&mut flow, attempt).await,
                None => flow.cut_off(TokioClock.now(), attempt),
            },
            None => match flow.poll() {
                Step::Attempt(attempt) => send(&mut flow, attempt).await,
                Step::WaitUntil(at) => {
                    sleep_until(at).await;
                    continue;
                }
                Step::Over(status) => return Answer::Over(Err(status)),
            },
        };
        match concluded {
            Concluded::Again => {}
            Concluded::Over(result) => return Answer::Over(result),
            Concluded::Stream(response, attempt) => {
                return Answer::Stream(response, attempt, flow);
            }
            Concluded::WaitReady(attempt) => unsent = Some(attempt),
        }
    }
}

async fn send<S, B>(flow: &mut Flow<S>, attempt: Attempt) -> Concluded
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let request = flow.request();
    let sending = Sending::new(flow.inner.clone(), request, &attempt, flow.hold());
    let ended = sending.await;
    flow.conclude(attempt, ended)
}

/// The pauses of a call that waits for a connection nobody reports on. Where a connector of ours
/// reports, they only keep a channel that fails at once, though connected, from being tried in a
/// loop.
struct Pauses {
    connectivity: Option<Connectivity>,
    growth: Growth,
    rng: SmallRng,
    waited: bool,
}

impl Pauses {
    fn new(connectivity: Option<Connectivity>) -> Self {
        let rng = SmallRng::seeded(fresh_seed());
        Self { connectivity, growth: Growth::START, rng, waited: false }
    }

    /// Waits until an attempt is worth sending; `None` when `deadline` comes first.
    async fn wait_ready(&mut self, deadline: Deadline) -> Option<()> {
        if self.connectivity.is_none() || self.waited {
            let pause = BACKOFF.next_delay(&mut self.growth, &mut self.rng);
            until(deadline, sleep_until(TokioClock.now().after(pause))).await?;
        }
        self.waited = true;
        match &self.connectivity {
            Some(connectivity) => connectivity.wait(deadline).await.ok(),
            None => Some(()),
        }
    }
}

/// As our connector dials while somebody waits: 20 ms × 1.6 ± 20 %, up to a second.
const BACKOFF: Backoff = checked!(
    checked!(
        checked!(Backoff::new(
            core::time::Duration::from_millis(20),
            core::time::Duration::from_secs(1)
        ))
        .with_multiplier(1_600)
    )
    .with_jitter(Jitter::Proportional(200))
);
