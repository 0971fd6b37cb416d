//! This file knows the attempts of one call that are under way side by side. They are polled where
//! the call is, never spawned: dropped with it, each is reset at its server.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};

use evenkeel_tokio::core::{Attempt, Code, Instant};
use http::Request;
use tokio::sync::watch;
use tonic::body::Body;
use tower_service::Service;

use super::policy::MOST;
use crate::attempt::{Ended, Sending};
use crate::below::Below;
use crate::drive::{Pauses, wait};
use crate::flow::Flow;
use crate::pool::{Connected, first};

/// A call with as many attempts at once as there may be.
pub(super) type HedgedFlow<S> = Flow<S, { MOST as usize }>;

/// The attempts under way, the oldest first.
pub(super) struct Flights<S: Service<Request<Body>>> {
    flights: Vec<Flight<S>>,
}

struct Flight<S: Service<Request<Body>>> {
    attempt: Attempt,
    /// Those it has made while it waited for a connection.
    pauses: Option<Pauses>,
    doing: Doing<S>,
}

enum Doing<S: Service<Request<Body>>> {
    Sending(Pin<Box<Sending<S>>>),
    /// It found no connection, and the call waits for one.
    Waiting(Pin<Box<dyn Future<Output = (Connected, Pauses)> + Send>>),
    Done(Box<Landed>),
}

/// What came of an attempt.
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, and in a box")]
pub(super) enum Landed {
    /// There is a connection, or will be none.
    Connected(Connected),
    Ended(Ended),
}

/// An attempt of which something has come.
pub(super) struct Landing {
    pub(super) attempt: Attempt,
    pub(super) pauses: Option<Pauses>,
    pub(super) landed: Landed,
}

impl<S: Below> Flights<S> {
    pub(super) const fn new() -> Self {
        Self { flights: Vec::new() }
    }

    /// Sends `attempt`, which has waited for a connection with these pauses.
    pub(super) fn send(
        &mut self,
        flow: &mut HedgedFlow<S>,
        attempt: Attempt,
        pauses: Option<Pauses>,
    ) {
        let mut sending = Box::pin(Sending::of(flow.request()));
        sending.as_mut().begin(flow, &attempt);
        self.flights.push(Flight { attempt, pauses, doing: Doing::Sending(sending) });
    }

    /// Waits for the connection that `attempt` needs.
    pub(super) fn wait_ready(
        &mut self,
        flow: &HedgedFlow<S>,
        attempt: Attempt,
        pauses: Option<Pauses>,
    ) {
        let (reports, deadline) = (flow.reports(&attempt), attempt.deadline());
        let mut pauses = pauses.unwrap_or_else(Pauses::new);
        let waiting = async move { (pauses.wait_ready(reports, deadline).await, pauses) };
        let doing = Doing::Waiting(Box::pin(waiting));
        self.flights.push(Flight { attempt, pauses: None, doing });
    }

    /// Until something has come of an attempt, or `at`, or until there may be a member where there
    /// was none.
    pub(super) async fn progress(
        &mut self,
        at: Instant,
        changes: Option<&mut watch::Receiver<()>>,
    ) {
        first(poll_fn(|cx| self.poll(cx)), wait(at, changes)).await;
    }

    /// What has come of an attempt: the answers before the failures, so that none of them ends a
    /// call that has been answered.
    pub(super) fn landing(&mut self) -> Option<Landing> {
        let at = self.flights.iter().position(Flight::is_answered);
        let at = at.or_else(|| self.flights.iter().position(Flight::is_done))?;
        let Flight { attempt, pauses, doing } = self.flights.remove(at);
        match doing {
            Doing::Done(landed) => Some(Landing { attempt, pauses, landed: *landed }),
            Doing::Sending(_) | Doing::Waiting(_) => None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut any = Poll::Pending;
        for flight in &mut self.flights {
            let landed = match &mut flight.doing {
                Doing::Sending(sending) => sending.as_mut().poll(cx).map(Landed::Ended),
                Doing::Waiting(waiting) => waiting.as_mut().poll(cx).map(|(connected, pauses)| {
                    flight.pauses = Some(pauses);
                    Landed::Connected(connected)
                }),
                Doing::Done(_) => continue,
            };
            if let Poll::Ready(landed) = landed {
                flight.doing = Doing::Done(Box::new(landed));
                any = Poll::Ready(());
            }
        }
        any
    }
}

impl<S: Service<Request<Body>>> Flight<S> {
    const fn is_done(&self) -> bool {
        matches!(self.doing, Doing::Done(_))
    }

    fn is_answered(&self) -> bool {
        let Doing::Done(landed) = &self.doing else { return false };
        matches!(
            **landed,
            Landed::Ended(Ended::Complete { code: Code::Ok, .. } | Ended::Streaming(_))
        )
    }
}
