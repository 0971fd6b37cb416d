//! This file knows the rest of a call once its first attempt has failed: the three-armed loop, as
//! an async function in a box. The healthy path never gets here.

use core::pin::pin;

use evenkeel_tokio::core::{
    Attempt, Backoff, Clock, Deadline, Growth, Instant, Jitter, SmallRng, checked,
};
use evenkeel_tokio::{TokioClock, fresh_seed, sleep_until, until};
use http::Response;
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;

use crate::attempt::Sending;
use crate::below::Below;
use crate::flow::{Concluded, Flow, Step};
use crate::held::Held;
use crate::pool::{Connected, first};
use crate::upstream::Reports;

/// How a driven call ended.
#[expect(clippy::large_enum_variant, reason = "made once for each call that failed at first")]
pub(crate) enum Answer<S, const IN_FLIGHT: usize = 1> {
    /// With a whole response, or an error.
    Over(Result<Held, Status>),
    /// With a response whose body goes on.
    Stream(Response<Body>, Attempt, Flow<S, IN_FLIGHT>),
}

/// Drives `flow` on until it has an answer. `unsent` is an attempt that found no connection and
/// waits for one.
pub(crate) async fn drive<S: Below, const IN_FLIGHT: usize>(
    mut flow: Flow<S, IN_FLIGHT>,
    mut unsent: Option<Attempt>,
) -> Answer<S, IN_FLIGHT> {
    let mut pauses = Pauses::new();
    let mut changes = flow.driven.upstream().pool().map(|pool| pool.changes());
    loop {
        if let Some(changes) = &mut changes {
            changes.borrow_and_update();
        }
        let concluded = match unsent.take() {
            Some(attempt) => {
                match pauses.wait_ready(flow.reports(&attempt), attempt.deadline()).await {
                    Connected::This => send(&mut flow, attempt).await,
                    Connected::Another => flow.move_on(attempt),
                    Connected::Late => flow.never_connected(attempt),
                    Connected::Closed => return Answer::Over(Err(flow.closed())),
                }
            }
            None => match flow.poll() {
                Step::Attempt(attempt) => send(&mut flow, attempt).await,
                Step::WaitUntil(at) => {
                    wait(at, changes.as_mut()).await;
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

/// Until `at`, or until there may be a member where there was none.
pub(crate) async fn wait(at: Instant, changes: Option<&mut watch::Receiver<()>>) {
    match changes {
        Some(changes) => _ = first(sleep_until(at), changes.changed()).await,
        None => sleep_until(at).await,
    }
}

async fn send<S: Below, const IN_FLIGHT: usize>(
    flow: &mut Flow<S, IN_FLIGHT>,
    attempt: Attempt,
) -> Concluded {
    let mut sending = pin!(Sending::of(flow.request()));
    sending.as_mut().begin(flow, &attempt);
    let ended = sending.await;
    flow.conclude(attempt, ended)
}

/// The pauses of a call that waits for a connection nobody reports on. Where a connector of ours
/// reports, they only keep a channel that fails at once, though connected, from being tried in a
/// loop.
pub(crate) struct Pauses {
    growth: Growth,
    rng: SmallRng,
    waited: bool,
}

impl Pauses {
    pub(crate) fn new() -> Self {
        let rng = SmallRng::seeded(fresh_seed());
        Self { growth: Growth::START, rng, waited: false }
    }

    /// Waits until an attempt with this deadline is worth sending.
    pub(crate) async fn wait_ready<S: Clone + Send + 'static>(
        &mut self,
        reports: Reports<S>,
        deadline: Deadline,
    ) -> Connected {
        if matches!(reports, Reports::None) || self.waited {
            let pause = BACKOFF.next_delay(&mut self.growth, &mut self.rng);
            if until(deadline, sleep_until(TokioClock.now().after(pause))).await.is_none() {
                return Connected::Late;
            }
        }
        self.waited = true;
        match reports {
            Reports::None => Connected::This,
            Reports::Of(connectivity) => match connectivity.wait(deadline).await {
                Ok(()) => Connected::This,
                Err(_) => Connected::Late,
            },
            Reports::Pool { pool, member, usable } => {
                pool.connected(&member, |other| usable.is(other), deadline).await
            }
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
