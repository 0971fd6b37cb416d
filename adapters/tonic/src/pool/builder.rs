//! This file knows how a pool is described, and refuses what cannot be right.

use core::fmt;
use std::sync::{Arc, Mutex, RwLock};

use evenkeel_tokio::core::{OutlierPolicy, Strategy};
use futures_core::Stream;
use http::Uri;
use hyper::rt::{Read, Write};
use portable_atomic::{AtomicBool, AtomicUsize};
use tokio::sync::{Notify, watch};
use tonic::transport::Channel;
use tower_service::Service;

use super::balance::Balance;
use super::dialling::{Channels, Connectors, Dialling};
use super::discovery::{Discovery, Updates};
use super::herald::Herald;
use super::options::ChannelOptions;
use super::origin::{Describe, Origin};
use super::resolve::{Resolve, SystemResolver};
use super::tls::Tls;
use super::waking::Waking;
use super::weights::Weights;
use super::{List, Pool};
use crate::BuildError;
use crate::error::BoxError;
use crate::observe::Subchannel;
use crate::settings::Settings;
use crate::target::{InvalidTarget, TargetName};

/// Describes the members of a client, for [`Builder::build_pool`](crate::Builder::build_pool).
///
/// | setting | default |
/// |---|---|
/// | security | TLS, see [`Tls`] |
/// | connections | [`ChannelOptions::DEFAULT`] |
/// | strategy | [`Strategy::RoundRobin`] |
/// | outliers | [`OutlierPolicy::DEFAULT`]: 5 s after `UNAVAILABLE` or `DEADLINE_EXCEEDED` |
/// | resolver | the operating system's |
#[must_use = "a description does nothing until a client is built with it"]
pub struct PoolBuilder<S = Channel> {
    pub(crate) targets: Vec<TargetName>,
    discovery: Option<Updates>,
    strategy: Strategy,
    weights: Weights,
    outliers: OutlierPolicy,
    pub(crate) checked: bool,
    /// Whether a settings file said what it says of members.
    pub(crate) configured: bool,
    resolver: Arc<dyn Resolve>,
    origin: Origin<S>,
}

impl PoolBuilder {
    pub(super) fn dialled() -> Self {
        Self::new(Origin::dialled())
    }

    /// One more target.
    ///
    /// # Errors
    ///
    /// [`InvalidTarget`] says what is wrong with it, and what would be right.
    pub fn target<T>(mut self, target: T) -> Result<Self, BuildError>
    where
        T: TryInto<TargetName>,
        InvalidTarget: From<T::Error>,
    {
        let target = target.try_into().map_err(InvalidTarget::from)?;
        self.targets.push(target);
        Ok(self)
    }

    /// These targets too. One that is named twice is one target.
    ///
    /// # Errors
    ///
    /// [`InvalidTarget`] says what is wrong with the first that is, and what would be right.
    pub fn targets<T>(self, targets: impl IntoIterator<Item = T>) -> Result<Self, BuildError>
    where
        T: TryInto<TargetName>,
        InvalidTarget: From<T::Error>,
    {
        targets.into_iter().try_fold(self, Self::target)
    }

    /// Takes the targets from a discovery of your own: each item is the whole list, in place of
    /// the one before. When it ends, the last list stays; when it panics, too, with an error in the
    /// log. One that is over before its first list leaves the pool with the
    /// [targets](Self::target) it was given, if any.
    pub fn discover(
        mut self,
        updates: impl Stream<Item = Vec<TargetName>> + Send + 'static,
    ) -> Self {
        self.discovery = Some(Updates::Stream(Box::pin(updates)));
        self
    }

    /// The same from a watched value, at first as it is.
    pub fn watch(mut self, targets: watch::Receiver<Vec<TargetName>>) -> Self {
        self.discovery = Some(Updates::watching(targets));
        self
    }

    /// Finds the addresses of `dns:///` targets this way.
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Plain HTTP/2, for networks that are safe by themselves. Anybody on the way reads everything,
    /// credentials in metadata included.
    pub fn insecure(self) -> Self {
        self.describe(|describe| describe.insecure = true)
    }

    /// TLS with these settings.
    pub fn tls(self, tls: Tls) -> Self {
        self.describe(|describe| describe.tls = Some(tls))
    }

    /// How connections are made and kept.
    pub fn options(self, options: ChannelOptions) -> Self {
        self.describe(|describe| describe.options = options)
    }

    /// Makes connections with `connector` instead of TCP. It is asked for `http://host:port` (or
    /// `https`, and TLS comes above it); `unix:` targets are not its business.
    pub fn connector<C>(self, connector: C) -> Self
    where
        C: Service<Uri, Response: Read + Write + Send + Unpin, Error: Into<BoxError>>,
        C: Clone + Send + Sync + 'static,
        C::Future: Send + 'static,
        C::Response: 'static,
    {
        self.describe(|describe| describe.connector = Connectors::given(connector))
    }

    /// Makes channels to its members that are not its own.
    pub(crate) fn dialling(&self) -> Result<Dialling, BuildError> {
        self.origin.dialling()
    }

    /// Shares connections with other pools that have these, and makes them as they do unless it was
    /// given a connector of its own.
    pub(crate) fn sharing(self, channels: &Channels, connector: &Connectors) -> Self {
        self.describe(|describe| {
            describe.channels = channels.clone();
            if describe.connector.is_tcp() {
                describe.connector = connector.clone();
            }
        })
    }

    fn describe(mut self, change: impl FnOnce(&mut Describe)) -> Self {
        if let Origin::Dialled(describe, _) = &mut self.origin {
            change(describe);
        }
        self
    }
}

impl<S> PoolBuilder<S> {
    pub(super) fn given<N: Into<String>>(members: impl IntoIterator<Item = (N, S)>) -> Self {
        let members = members.into_iter().map(|(name, service)| (name.into(), service));
        Self::new(Origin::Given(members.collect()))
    }

    fn new(origin: Origin<S>) -> Self {
        Self {
            targets: Vec::new(),
            discovery: None,
            strategy: Strategy::RoundRobin,
            weights: Weights::default(),
            outliers: OutlierPolicy::DEFAULT,
            checked: false,
            configured: false,
            resolver: Arc::new(SystemResolver),
            origin,
        }
    }

    /// How a member is chosen. For [`Strategy::Weighted`] use [`weighted`](Self::weighted).
    pub const fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Chooses members at random, each in proportion to the weight of its target. A target that is
    /// not named weighs 1.0; one of weight 0 is used only when nobody else is left.
    ///
    /// # Errors
    ///
    /// Refuses an empty list, and weights below 0, above 1,000,000 and NaN. A name that is none of
    /// the targets is refused when the client is built.
    pub fn weighted<N: Into<String>>(
        mut self,
        weights: impl IntoIterator<Item = (N, f64)>,
    ) -> Result<Self, BuildError> {
        self.weights = Weights::new(weights.into_iter().map(|(name, w)| (name.into(), w)))?;
        self.strategy = Strategy::Weighted;
        Ok(self)
    }

    /// What calls hold against a member.
    pub const fn outliers(mut self, policy: OutlierPolicy) -> Self {
        self.outliers = policy;
        self
    }

    /// Says that somebody checks the members' health and tells of it with
    /// [`Pool::set_healthy`]: a member is used only while the last word of it was good.
    pub const fn health_checked(mut self) -> Self {
        self.checked = true;
        self
    }

    /// The pool, in which members keep breakers for so many methods, as long as they fit into a
    /// table of `room`, and whose connections `counts` is told of.
    pub(crate) fn build(
        self,
        settings: &Settings,
        counts: Option<Arc<Subchannel>>,
    ) -> Result<Arc<Pool<S>>, BuildError>
    where
        S: Clone + Send + 'static,
    {
        self.check()?;
        let methods = settings.methods.methods().len();
        let room = settings.breaker.as_ref().map_or(0, |(_, table)| table.max());
        let Self {
            targets, discovery, strategy, weights, outliers, checked, resolver, origin, ..
        } = self;
        let mut directory = origin.directory(&targets)?;
        directory.upstream = Arc::clone(&settings.target);
        directory.resolver = resolver;
        directory.weights = weights;
        directory.counts = counts;
        if !targets.is_empty() {
            directory.ask_for(targets);
        }
        directory.keep_breakers(methods, room);
        let list = List { slots: Box::new([]), unresolved: Box::new([]), settled: false };
        let pool = Arc::new_cyclic(|me| Pool {
            me: me.clone(),
            balance: Balance::new(strategy, outliers, checked, Arc::clone(&settings.target)),
            list: RwLock::new(Arc::new(list)),
            directory: Mutex::new(directory),
            discovery: Mutex::new(discovery.map(Discovery::of)),
            waking: Waking::new(),
            closed: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            drained: Notify::new(),
            herald: Herald::new(),
            changes: watch::Sender::new(()),
        });
        pool.update(|_| {});
        pool.start();
        Ok(pool)
    }

    fn check(&self) -> Result<(), BuildError> {
        let targets: Vec<String> = match &self.origin {
            Origin::Given(members) => members.iter().map(|(name, _)| name.clone()).collect(),
            Origin::Dialled(..) => self.targets.iter().map(ToString::to_string).collect(),
        };
        if targets.is_empty() && self.discovery.is_none() {
            let rule = "must name one at least, by KitBuilder::pool, PoolBuilder::target or \
                        channel.targets";
            return Err(BuildError::Refused { field: "targets", rule: rule.into() });
        }
        match self.strategy {
            Strategy::Weighted => self.weights.check(&targets),
            _ => Ok(()),
        }
    }
}

impl<S> fmt::Debug for PoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("targets", &self.targets)
            .field("strategy", &self.strategy)
            .field("outliers", &self.outliers)
            .finish_non_exhaustive()
    }
}
