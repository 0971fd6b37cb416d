//! This file knows how a link is kept up under embassy: the loop of a [`Reconnect`] and one timer.

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;

use evenkeel_core::{
    Clock, Escalation, Micros, Reconnect, ReconnectAction, ReconnectPolicy, Setback,
};

use crate::clock::bounded;
use crate::{EmbassyClock, log, sleep_until, until};

/// What a supervisor keeps up: a session with a broker, a modem's context, a Wi-Fi association.
#[expect(async_fn_in_trait, reason = "an executor of embassy runs on one core; nothing is sent")]
pub trait Link {
    /// Completes when dialling makes sense: the cable is in, the radio is associated. While it is
    /// pending nobody dials, and nothing is polled but this.
    ///
    /// Nothing is counted while `ready` waits: give it a limit of its own and return, or the ladder
    /// is never climbed for a modem that hangs while it joins. The dial that follows fails, and is
    /// counted.
    ///
    /// It is asked before every dial and may take its time to answer. That is then taken for the
    /// time the medium was gone, and a dial that came due meanwhile is drawn anew, as
    /// [`Reconnect::carrier_back`] says: what came back came back for others, too.
    async fn ready(&mut self) {}

    /// Makes a session: name look-up, connecting, logging in, all together. It is dropped at the
    /// dial's deadline, at any of its awaits.
    ///
    /// # Errors
    ///
    /// How long the peer asked to be left alone, if it did.
    async fn dial(&mut self) -> Result<(), Option<Micros>>;

    /// Uses the session until it ends; answers as an error of [`dial`](Self::dial) does.
    async fn session(&mut self) -> Option<Micros>;

    /// Ends a dial or a session towards the peer, in [`CLOSE_LIMIT`](crate::CLOSE_LIMIT); of a socket: abort, then
    /// flush. It is called after every dial and every session, however it ended.
    async fn close(&mut self) {}

    /// Does what the ladder of the policy asks for.
    async fn escalate(&mut self, _step: Escalation) {}

    /// Is told what a failed dial or a lost session led to, once for each; for metrics. A dial that
    /// made its session at or after its deadline has failed.
    fn set_back(&mut self, _setback: Setback) {}
}

/// Keeps `link` up, for ever or until the policy gives up. Run it as a task; whoever sends over the
/// link waits for that task's session, so that one device has one schedule.
///
/// `seed` decides splay and jitter and must differ between devices
/// ([`seed_from`](evenkeel_core::rng::seed_from) a chip id).
///
/// ```
/// use evenkeel_embassy::core::rng::seed_from;
/// use evenkeel_embassy::core::{Micros, ReconnectPolicy};
/// use evenkeel_embassy::{Link, supervise};
///
/// static POLICY: ReconnectPolicy = ReconnectPolicy::DEFAULT;
///
/// struct Broker;
///
/// impl Link for Broker {
///     async fn dial(&mut self) -> Result<(), Option<Micros>> {
///         Ok(()) // connect, log in, subscribe
///     }
///
///     async fn session(&mut self) -> Option<Micros> {
///         None // publish until the connection ends
///     }
/// }
///
/// # let _ = async {
/// supervise(&mut Broker, &POLICY, seed_from(b"chip id")).await;
/// # };
/// ```
pub async fn supervise(link: &mut impl Link, policy: &ReconnectPolicy, seed: u32) {
    let mut reconnect = Reconnect::new(seed);
    loop {
        if had_to_wait_for(link.ready()).await {
            reconnect.carrier_back(EmbassyClock.now(), policy);
        }
        match reconnect.poll(EmbassyClock.now(), policy) {
            ReconnectAction::Dial(dial) => {
                let dialled = until(dial.deadline(), link.dial()).await;
                let now = EmbassyClock.now();
                let setback = match dialled {
                    // One that came too late is left to `failed`, which alone says what follows.
                    Some(Ok(())) if !dial.deadline().is_over(now) => {
                        if reconnect.connected(now, dial, policy) {
                            log::connected();
                            let asked = link.session().await;
                            reconnect.lost(EmbassyClock.now(), asked, policy)
                        } else {
                            None
                        }
                    }
                    Some(Err(asked)) => reconnect.failed(now, dial, asked, policy),
                    Some(Ok(())) | None => reconnect.failed(now, dial, None, policy),
                };
                if let Some(setback) = setback {
                    log::set_back(setback);
                    link.set_back(setback);
                }
                bounded(link.close()).await;
            }
            ReconnectAction::WaitUntil(at) => sleep_until(at).await,
            ReconnectAction::Escalate(step) => {
                log::escalated(step);
                link.escalate(step).await;
            }
            ReconnectAction::GiveUp => return,
        }
    }
}

/// Runs `future` to its end, and answers whether that took more than being asked once.
async fn had_to_wait_for(future: impl Future<Output = ()>) -> bool {
    let mut future = pin!(future);
    let mut waited = false;
    poll_fn(|cx| {
        if future.as_mut().poll(cx).is_ready() {
            return Poll::Ready(waited);
        }
        waited = true;
        Poll::Pending
    })
    .await
}
