//! This file knows several upstreams by name, and what they share.

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use http::Uri;
use hyper::rt::{Read, Write};
use tonic::transport::Channel;
use tower_service::Service;

use super::{Kit, KitBuilder};
use crate::error::BoxError;
use crate::pool::{Channels, Connectors};
use crate::{BuildError, Resilient, Snapshots};

/// Several [`Kit`]s by name. Clones are cheap and share everything.
///
/// Upstreams at the same place share its connection, if they reach it in the same way: equal
/// target, security and channel options, and the [factory's
/// connector](FactoryBuilder::connector). Their policies, breakers, health
/// checks and throttles are their own.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tonic::{Factory, Kit, Pool, Resilient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let patient = Resilient::builder().timeout(Duration::from_secs(30))?;
/// let factory = Factory::builder()
///     .upstream(Kit::builder("orders").pool(Pool::builder().target("shop:443")?.insecure()))
///     .upstream(
///         Kit::builder("reports")
///             .pool(Pool::builder().target("shop:443")?.insecure())
///             .calls(patient),
///     )
///     .build()?;
/// // OrdersClient::new(factory.channel("orders")?)
/// assert!(factory.channel("billing").is_err());
/// factory.close(Duration::from_secs(10)).await;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Factory {
    kits: Arc<BTreeMap<String, Kit>>,
}

impl Factory {
    /// A factory without upstreams.
    pub fn builder() -> FactoryBuilder {
        FactoryBuilder { upstreams: Vec::new(), connector: Connectors::tcp() }
    }

    /// What a generated client of `upstream` is made of.
    ///
    /// # Errors
    ///
    /// [`UnknownUpstream`] names those there are.
    pub fn channel(&self, upstream: &str) -> Result<Resilient<Channel>, UnknownUpstream> {
        self.kit(upstream).map(Kit::channel)
    }

    /// All of `upstream`.
    ///
    /// # Errors
    ///
    /// [`UnknownUpstream`] names those there are.
    pub fn kit(&self, upstream: &str) -> Result<&Kit, UnknownUpstream> {
        self.kits.get(upstream).ok_or_else(|| UnknownUpstream {
            upstream: upstream.to_owned(),
            known: self.kits.keys().cloned().collect(),
        })
    }

    /// The names of its upstreams.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.kits.keys().map(String::as_str)
    }

    /// What every circuit breaker looks like now: `upstream -> target` → method → snapshot.
    pub fn circuit_breaker_states(&self) -> Snapshots {
        let states = self.kits.iter().flat_map(|(upstream, kit)| {
            let targets = kit.circuit_breaker_states().into_iter();
            targets.map(move |(target, methods)| (format!("{upstream} -> {target}"), methods))
        });
        states.collect()
    }

    /// Waits until all upstreams are [ready](Kit::wait_until_ready); `false` when `timeout` is
    /// over before, and when one of them is closed.
    pub async fn wait_until_ready(&self, timeout: Duration) -> bool {
        let ready = together(self.kits.values().map(|kit| kit.wait_until_ready(timeout)));
        ready.await.into_iter().all(|ready| ready)
    }

    /// Closes all upstreams at once, each with the same `grace`; see [`Kit::close`]. Answers
    /// whether all calls ended by themselves.
    pub async fn close(&self, grace: Duration) -> bool {
        let drained = together(self.kits.values().map(|kit| kit.close(grace)));
        drained.await.into_iter().all(|drained| drained)
    }
}

/// Describes a [`Factory`].
#[derive(Debug)]
#[must_use = "a description does nothing until a factory is built with it"]
pub struct FactoryBuilder {
    upstreams: Vec<KitBuilder>,
    connector: Connectors,
}

impl FactoryBuilder {
    /// One more upstream, under the name it has.
    pub fn upstream(mut self, upstream: KitBuilder) -> Self {
        self.upstreams.push(upstream);
        self
    }

    /// Makes connections with `connector` instead of TCP, for all upstreams whose pool was not given
    /// one of its own; see [`PoolBuilder::connector`](crate::PoolBuilder::connector).
    pub fn connector<C>(mut self, connector: C) -> Self
    where
        C: Service<Uri, Response: Read + Write + Send + Unpin, Error: Into<BoxError>>,
        C: Clone + Send + Sync + 'static,
        C::Future: Send + 'static,
        C::Response: 'static,
    {
        self.connector = Connectors::given(connector);
        self
    }

    /// The factory.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names what cannot be right, and in which upstream: a name that is there
    /// twice, among others.
    pub fn build(self) -> Result<Factory, BuildError> {
        let channels = Channels::default();
        let mut kits = BTreeMap::new();
        for upstream in self.upstreams {
            let name = upstream.name.clone();
            if kits.contains_key(&name) {
                let rule = format!("{name:?} is there twice").into();
                return Err(BuildError::Refused { field: "upstreams", rule });
            }
            let kit = upstream.sharing(&channels, &self.connector).build().map_err(|error| {
                BuildError::Upstream { upstream: name.clone(), error: Box::new(error) }
            })?;
            kits.insert(name, kit);
        }
        Ok(Factory { kits: Arc::new(kits) })
    }
}

/// A name that is none of a factory's upstreams.
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub struct UnknownUpstream {
    /// The name.
    pub upstream: String,
    /// Those it has.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no upstream is called {:?}: there are {}", self.upstream, self.known.join(", "))
    }
}

/// As it is displayed: a `main` that returns it prints this.
impl fmt::Debug for UnknownUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for UnknownUpstream {}

/// The outputs of all, which run side by side.
async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    core::future::poll_fn(|cx| {
        let mut pending = false;
        for (future, output) in running.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match future.as_mut().poll(cx) {
                    core::task::Poll::Ready(ready) => *output = Some(ready),
                    core::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { core::task::Poll::Pending } else { core::task::Poll::Ready(()) }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
