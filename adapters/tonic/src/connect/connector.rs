//! This file knows how the one dial is made, and how its connection reaches the channel.
//!
//! Why a task? tonic polls a dial only while some call queues for it: when the last of these is
//! dropped, the dial stands still with it, and whoever waits for its outcome waits in vain. And
//! tonic dials only for a call that is handed to it, while a waiting call should be handed over
//! once, when there is a connection. So a dial is a task of its own, anybody may cause it, and its
//! connection is parked until the channel comes for it.
//!
//! And it ends with those who could come: a client that is gone must not connect to a server half a
//! minute later.

use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_tokio::core::{Clock, Deadline, Micros};
use http::Uri;
use hyper::rt::Read;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tower_service::Service;

use super::link::{Dialing, Link};
use super::schedule::{Ask, Serial};
use super::{BoxError, Connection, DialError, NotConnected, State};
use evenkeel_tokio::{TokioClock, until};

/// The connector for `Endpoint::connect_with_connector_lazy`, made by [`connector`].
///
/// It dials its own target, whatever it is asked for. It is always ready, because a channel whose
/// connector was once not ready stays broken for ever.
///
/// [`connector`]: super::connector
pub struct Connector<C: Service<Uri>>(Arc<Dialer<C>>);

impl<C: Service<Uri>> Connector<C> {
    pub(super) const fn new(dialer: Arc<Dialer<C>>) -> Self {
        Self(dialer)
    }
}

impl<C> Service<Uri> for Connector<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send, Response: Read + Send + Unpin>
        + Send
        + 'static,
{
    type Response = Connection<C::Response>;
    type Error = NotConnected;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NotConnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NotConnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(Arc::clone(&self.0).connection())
    }
}

impl<C: Service<Uri>> Drop for Connector<C> {
    /// It goes with its channel, and before the channel's connection does.
    fn drop(&mut self) {
        self.0.site.link.let_go();
    }
}

impl<C: Service<Uri>> fmt::Debug for Connector<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("target", &self.0.site.target).finish_non_exhaustive()
    }
}

/// Makes the dials of one target. Who has it may want the connection.
pub(super) struct Dialer<C: Service<Uri>> {
    site: Arc<Site<C>>,
    /// The last dial, or its connection while that is parked.
    task: Mutex<Option<AbortHandle>>,
}

/// What a dial needs.
struct Site<C: Service<Uri>> {
    link: Arc<Link>,
    target: Uri,
    limit: Micros,
    inner: tokio::sync::Mutex<C>,
    /// Locked before the schedule where both are, never after.
    parked: Mutex<Option<Connection<C::Response>>>,
}

/// Starts a dial if its time has come.
pub(super) trait Dial: Send + Sync {
    fn dial(self: Arc<Self>);
}

impl<C> Dial for Dialer<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send, Response: Read + Send + Unpin>
        + Send
        + 'static,
{
    fn dial(self: Arc<Self>) {
        if let Some(serial) = self.site.link.step(|schedule, now| schedule.begin(now)) {
            self.start(serial);
        }
    }
}

impl<C> Dialer<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send, Response: Read + Send + Unpin>
        + Send
        + 'static,
{
    pub(super) fn new(link: Arc<Link>, inner: C, target: Uri, limit: Micros) -> Self {
        let inner = tokio::sync::Mutex::new(inner);
        let site = Site { link, target, limit, inner, parked: Mutex::new(None) };
        Self { site: Arc::new(site), task: Mutex::new(None) }
    }

    /// The connection for a channel: as soon as there is one, or until the schedule refuses.
    async fn connection(self: Arc<Self>) -> Result<Connection<C::Response>, NotConnected> {
        let mut states = self.site.link.states();
        loop {
            match self.site.take_or_ask() {
                Ok(connection) => return Ok(connection),
                Err(Ask::Dial(serial)) => self.start(serial),
                Err(Ask::Join) => {}
                Err(Ask::Refused(refusal)) => return Err(refusal),
            }
            // Fails only without a sender, and the sender is ours.
            _ = states.wait_for(|state| !matches!(state, State::Connecting)).await;
        }
    }

    fn start(&self, serial: Serial) {
        let dialing = Dialing { link: Arc::clone(&self.site.link), serial };
        // Without a runtime `dialing` is dropped here, which is a failed dial.
        let Ok(runtime) = Handle::try_current() else { return };
        // Locked before it can end, so that the dial after it cannot be taken for the one before.
        let mut place = self.task();
        let task = runtime.spawn(Arc::clone(&self.site).run(dialing)).abort_handle();
        let before = place.replace(task);
        drop(place);
        // It has nothing left to do, or no new one would have begun.
        if let Some(before) = before {
            before.abort();
        }
    }
}

impl<C: Service<Uri>> Dialer<C> {
    fn task(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Service<Uri>> Drop for Dialer<C> {
    fn drop(&mut self) {
        if let Some(task) = self.task().take() {
            task.abort();
        }
    }
}

impl<C> Site<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send, Response: Read + Send + Unpin>
        + Send
        + 'static,
{
    fn take_or_ask(&self) -> Result<Connection<C::Response>, Ask> {
        // Still locked when the schedule is asked, which takes one that is parked for one in use.
        let mut parked = self.parked();
        parked.take().ok_or_else(|| self.link.step(|schedule, now| schedule.ask(now)))
    }

    async fn run(self: Arc<Self>, dialing: Dialing) {
        let serial = dialing.serial;
        let limit = Deadline::at(TokioClock.now() + self.limit);
        let failure = match until(limit, self.reach()).await {
            Some(Ok(io)) => return self.park(io, dialing).await,
            Some(Err(error)) => DialError::Connector(error.into()),
            None => DialError::TimedOut { limit: self.limit },
        };
        self.link.failed(serial, failure);
    }

    async fn reach(&self) -> Result<C::Response, BoxError> {
        let dial = {
            let mut inner = self.inner.lock().await;
            poll_fn(|cx| inner.poll_ready(cx)).await.map_err(Into::into)?;
            inner.call(self.target.clone())
        };
        dial.await.map_err(Into::into)
    }

    /// Keeps the connection for the channel, until the channel comes or the server ends it; but not
    /// for long, because servers give up on a client that says nothing.
    async fn park(&self, io: C::Response, dialing: Dialing) {
        let serial = dialing.serial;
        let counts = self.link.counts().cloned();
        {
            let mut parked = self.parked();
            *parked = Some(Connection::new(io, serial, Arc::clone(&self.link), counts.clone()));
            self.link.step(|schedule, now| schedule.connected(now, serial));
        }
        if let Some(counts) = counts {
            counts.connected();
        }
        let limit = Deadline::at(TokioClock.now() + PARKED_AT_MOST);
        let ended = until(limit, poll_fn(|cx| self.poll_parked(serial, cx))).await.is_some();
        let left = self.parked().take_if(|connection| connection.serial() == serial);
        if let Some(expired) = left.filter(|_| !ended) {
            expired.unwanted();
        }
    }

    /// Ready once this connection has ended, or is parked no more.
    fn poll_parked(&self, serial: Serial, cx: &mut Context<'_>) -> Poll<()> {
        let mut parked = self.parked();
        let connection = parked.as_mut().filter(|connection| connection.serial() == serial);
        connection.map_or(Poll::Ready(()), |connection| connection.poll_end(cx))
    }

    fn parked(&self) -> MutexGuard<'_, Option<Connection<C::Response>>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who caused the dial comes at once. The usual limits for a handshake are 10 s and more.
const PARKED_AT_MOST: Micros = Micros::from_millis(5_000);
