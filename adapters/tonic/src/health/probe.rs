//! This file knows how a target is asked on the wire, and what its words mean.

use core::error::Error;
use core::future::{Future, poll_fn};
use core::panic::AssertUnwindSafe;
use core::pin::pin;
use core::task::Poll;
use std::panic::catch_unwind;
use std::sync::Arc;

use evenkeel_tokio::core::{Clock, Deadline, Micros};
use evenkeel_tokio::{TokioClock, until};
use tonic::body::Body;
use tonic::{Request, Status, Streaming};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tower::util::BoxCloneService;
use tower_service::Service;

use super::callback::words_of;
use super::heard::Heard;
use crate::error::BoxError;

/// A channel on which one target is asked: a `tonic::transport::Channel`, or one with an
/// interceptor around it that adds credentials, or whatever else carries gRPC.
pub type ProbeChannel = BoxCloneService<http::Request<Body>, http::Response<Body>, Status>;

/// Makes the channels of a checker. Every `Fn(&str) -> Result<Channel, E>` does.
///
/// It is called again for a target whose channel was closed because a check failed. An error or a
/// panic is a failed check.
pub trait ProbeChannels: Send + Sync + 'static {
    /// A new channel to `target`, which nobody else uses. Need not be connected.
    ///
    /// # Errors
    ///
    /// When the target is none.
    fn open(&self, target: &str) -> Result<ProbeChannel, Box<dyn Error + Send + Sync>>;
}

impl<F, S, E> ProbeChannels for F
where
    F: Fn(&str) -> Result<S, E> + Send + Sync + 'static,
    S: Service<http::Request<Body>, Response = http::Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    E: Into<BoxError>,
{
    fn open(&self, target: &str) -> Result<ProbeChannel, BoxError> {
        let service = self(target).map_err(Into::into)?;
        let status = |error: S::Error| Status::from_error(error.into());
        Ok(BoxCloneService::new(tower::util::MapErr::new(service, status)))
    }
}

/// Asks targets.
pub(super) struct Prober {
    channels: Arc<dyn ProbeChannels>,
    service: String,
    timeout: Micros,
    /// Whose members are asked, if they are a client's.
    upstream: Option<Arc<str>>,
}

impl Prober {
    pub(super) fn new(
        channels: Arc<dyn ProbeChannels>,
        service: String,
        timeout: Micros,
        upstream: Option<Arc<str>>,
    ) -> Self {
        Self { channels, service, timeout, upstream }
    }

    /// Whose members are asked, for the log.
    pub(super) fn upstream(&self) -> Option<&str> {
        self.upstream.as_deref()
    }

    /// A new channel to `target`; none if the user's function fails.
    pub(super) fn open(&self, target: &str) -> Option<ProbeChannel> {
        let why = match catch_unwind(AssertUnwindSafe(|| self.channels.open(target))) {
            Ok(Ok(channel)) => return Some(channel),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("it panicked: {}", words_of(panic.as_ref())),
        };
        tracing::warn!(
            target: "evenkeel", upstream = self.upstream(), member = target, error = why,
            "no channel for a health check could be made"
        );
        None
    }

    /// What one `Check` comes to.
    pub(super) async fn check(&self, channel: ProbeChannel, deadline: Deadline) -> Heard {
        let mut client = HealthClient::new(channel).max_decoding_message_size(LONGEST_ANSWER);
        let mut request = self.request();
        request.set_timeout(self.timeout.as_duration());
        let checked = guarded(self.upstream(), until(deadline, client.check(request))).await;
        match checked {
            Some(Some(Ok(response))) => Heard::said(response.get_ref()),
            Some(Some(Err(status))) if !deadline.is_over(TokioClock.now()) => {
                Heard::refused(&status)
            }
            // tonic has a timer of its own, which may be the first.
            Some(Some(Err(_)) | None) => Heard::late(self.timeout),
            None => Heard::nothing(PANICKED),
        }
    }

    /// Opens a `Watch`: its stream and first message, or what came instead.
    pub(super) async fn watch(
        &self,
        channel: ProbeChannel,
        deadline: Deadline,
    ) -> Result<(Watched, Heard), Heard> {
        let opened = until(deadline, async {
            let mut client = HealthClient::new(channel).max_decoding_message_size(LONGEST_ANSWER);
            let stream =
                client.watch(self.request()).await.map_err(|status| Heard::refused(&status))?;
            let upstream = self.upstream.clone();
            let mut watched = Watched { stream: stream.into_inner(), upstream };
            let first = watched.next().await?;
            Ok((watched, first))
        });
        match guarded(self.upstream(), opened).await {
            Some(Some(opened)) => opened,
            Some(None) => Err(Heard::late(self.timeout)),
            None => Err(Heard::nothing(PANICKED)),
        }
    }

    fn request(&self) -> Request<HealthCheckRequest> {
        Request::new(HealthCheckRequest { service: self.service.clone() })
    }
}

/// The open stream of a watch.
pub(super) struct Watched {
    stream: Streaming<HealthCheckResponse>,
    /// Whose member it is about, for the log.
    upstream: Option<Arc<str>>,
}

impl Watched {
    /// The next message, or what the stream ended with. An end without a status is a failure too.
    pub(super) async fn next(&mut self) -> Result<Heard, Heard> {
        match guarded(self.upstream.as_deref(), self.stream.message()).await {
            Some(Ok(Some(response))) => Ok(Heard::said(&response)),
            Some(Err(status)) => Err(Heard::refused(&status)),
            Some(Ok(None)) => Err(Heard::nothing("its stream ended")),
            None => Err(Heard::nothing(PANICKED)),
        }
    }
}

/// The output of `future`, or nothing if it panics: tonic's client does so on some garbage from
/// the wire, and a check that dies of it would never be made again.
async fn guarded<F: Future>(upstream: Option<&str>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Some),
        Err(panic) => {
            let error = words_of(panic.as_ref());
            tracing::error!(target: "evenkeel", upstream, error, "a health check panicked");
            Poll::Ready(None)
        }
    })
    .await
}

const PANICKED: &str = "the check panicked";

/// A health answer has two bytes and is read from a peer that may be anything.
const LONGEST_ANSWER: usize = 1_024;
