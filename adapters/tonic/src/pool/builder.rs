//! This file knows how a pool is described, and refuses what cannot be right.

use core::fmt;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use evenkeel_tokio::core::{Micros, OutlierPolicy, Strategy};
use futures_core::Stream;
use http::Uri;
use hyper::rt::{Read, Write};
use portable_atomic::{AtomicBool, AtomicUsize};
use tokio::sync::{Notify, watch};
use tonic::transport::Channel;
use tower_service::Service;

use super::balance::Balance;
use super::dialling::{Channels, Connectors, Dialling, Security};
use super::directory::{Directory, Lines};
use super::discovery::{Discovery, Updates};
use super::line::{Line, Made};
use super::options::ChannelOptions;
use super::place::Place;
use super::resolve::{Resolve, SystemResolver};
use super::tls::Tls;
use super::weights::Weights;
use super::{List, Pool};
use crate::BuildError;
use crate::error::BoxError;
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
    checked: bool,
    resolver: Arc<dyn Resolve>,
    from: From<S>,
}

/// Where members' services come from.
enum From<S> {
    /// Dialled as described, by the function that knows how.
    Dialled(Box<Describe>, Dial<S>),
    Given(Vec<(String, S)>),
}

/// What knows that a dialled member's service is a channel.
type Dial<S> = fn(&Dialling, &Place) -> Result<Arc<Line<S>>, BuildError>;

/// How channels are to be dialled.
#[derive(Clone)]
struct Describe {
    insecure: bool,
    tls: Option<Tls>,
    options: ChannelOptions,
    connector: Connectors,
    channels: Channels,
}

impl PoolBuilder {
    pub(super) fn dialled() -> Self {
        Self::new(From::Dialled(Box::new(Describe::plain()), Dialling::line))
    }

    /// One more target.
    ///
    /// # Errors
    ///
    /// [`InvalidTarget`] says what is wrong with it, and what would be right.
    pub fn target<T>(mut self, target: T) -> Result<Self, BuildError>
    where
        T: TryInto<TargetName>,
        InvalidTarget: core::convert::From<T::Error>,
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
        InvalidTarget: core::convert::From<T::Error>,
    {
        targets.into_iter().try_fold(self, Self::target)
    }

    /// Takes the targets from a discovery of your own: each item is the whole list, in place of
    /// the one before. When it ends, the last list stays.
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
        match &self.from {
            From::Dialled(describe, _) => describe.clone().finish(),
            From::Given(_) => Describe::plain().finish(),
        }
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
        if let From::Dialled(describe, _) = &mut self.from {
            change(describe);
        }
        self
    }
}

impl<S> PoolBuilder<S> {
    pub(super) fn given<N: Into<String>>(members: impl IntoIterator<Item = (N, S)>) -> Self {
        let members = members.into_iter().map(|(name, service)| (name.into(), service));
        Self::new(From::Given(members.collect()))
    }

    fn new(from: From<S>) -> Self {
        Self {
            targets: Vec::new(),
            discovery: None,
            strategy: Strategy::RoundRobin,
            weights: Weights::default(),
            outliers: OutlierPolicy::DEFAULT,
            checked: false,
            resolver: Arc::new(SystemResolver),
            from,
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
    /// table of `room`.
    pub(crate) fn build(self, methods: usize, room: usize) -> Result<Arc<Pool<S>>, BuildError>
    where
        S: Clone + Send + 'static,
    {
        self.check()?;
        let Self { targets, discovery, strategy, weights, outliers, checked, resolver, from } =
            self;
        let mut directory = from.directory(&targets)?;
        directory.resolver = resolver;
        directory.weights = weights;
        if !targets.is_empty() {
            directory.ask_for(targets);
        }
        directory.keep_breakers(methods, room);
        let list = List { slots: Box::new([]), unresolved: Box::new([]), settled: false };
        let pool = Arc::new_cyclic(|me| Pool {
            me: me.clone(),
            balance: Balance::new(strategy, outliers, checked),
            list: RwLock::new(Arc::new(list)),
            directory: Mutex::new(directory),
            discovery: Mutex::new(discovery.map(Discovery::Waiting)),
            asleep: AtomicBool::new(true),
            closed: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            drained: Notify::new(),
            attached: Mutex::new(None),
            changes: watch::Sender::new(()),
        });
        pool.update(|_| {});
        pool.start();
        Ok(pool)
    }

    fn check(&self) -> Result<(), BuildError> {
        let targets: Vec<String> = match &self.from {
            From::Given(members) => members.iter().map(|(name, _)| name.clone()).collect(),
            From::Dialled(..) => self.targets.iter().map(ToString::to_string).collect(),
        };
        if targets.is_empty() && self.discovery.is_none() {
            let rule = "must name one at least";
            return Err(BuildError::Refused { field: "targets", rule: rule.into() });
        }
        match self.strategy {
            Strategy::Weighted => self.weights.check(&targets),
            _ => Ok(()),
        }
    }
}

impl<S: Clone + Send + 'static> From<S> {
    /// Who makes the channels of members, and who these are where that is settled.
    fn directory(self, targets: &[TargetName]) -> Result<Directory<S>, BuildError> {
        match self {
            Self::Dialled(describe, line) => {
                let limit = describe.options.dial().connect_timeout();
                let dialling = describe.finish()?;
                targets.iter().try_for_each(|target| dialling.check(target))?;
                let lines: Lines<S> = Box::new(move |place| line(&dialling, place));
                Ok(Directory::new(lines, limit))
            }
            Self::Given(members) => {
                let mut named = HashSet::new();
                if let Some((twice, _)) = members.iter().find(|(name, _)| !named.insert(&**name)) {
                    let rule = format!("{twice:?} is there twice").into();
                    return Err(BuildError::Refused { field: "targets", rule });
                }
                let names: Vec<Arc<str>> =
                    members.iter().map(|(name, _)| (**name).into()).collect();
                let services = members.into_iter().map(|(_, service)| service);
                let services = names.iter().cloned().zip(services).collect();
                let mut directory = Directory::new(given(services), Micros::ZERO);
                directory.fix(names);
                Ok(directory)
            }
        }
    }
}

/// Lines to services that are there.
fn given<S: Clone + Send + 'static>(services: HashMap<Arc<str>, S>) -> Lines<S> {
    // Locked, because a service need not be `Sync`; and only when a member is made.
    let services = Mutex::new(services);
    Box::new(move |place| {
        let services = services.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(service) = services.get(&place.name).cloned() else {
            let rule = "must be one of the services it was made of";
            return Err(BuildError::Refused { field: "targets", rule: rule.into() });
        };
        let service = Mutex::new(service);
        let make = move |_: &_| {
            let service = service.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Made { service, connectivity: None }
        };
        Ok(Line::new(Box::new(make), None))
    })
}

impl Describe {
    fn plain() -> Self {
        Self {
            insecure: false,
            tls: None,
            options: ChannelOptions::DEFAULT,
            connector: Connectors::tcp(),
            channels: Channels::default(),
        }
    }

    fn finish(self) -> Result<Dialling, BuildError> {
        let Self { insecure, tls, options, connector, channels } = self;
        let security = match (insecure, tls) {
            (true, Some(_)) => {
                let rule = "must not be combined with TLS settings: with credentials on an open \
                            line nobody is safe";
                return Err(BuildError::Refused { field: "channel.insecure", rule: rule.into() });
            }
            (true, None) => Security::Insecure,
            (false, tls) => Security::Tls(tls.unwrap_or_default()),
        };
        Ok(Dialling::new(security, options, connector, channels))
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
