//! This file knows how the channels of members are made from what a pool was told of them, and that
//! equal ones are one channel.
//!
//! Why share? Two upstreams on one server are two policies and one place: two connections to it
//! double the handshakes, the pings and the dials of an outage. What makes a connection another
//! one is in its [`Key`]; policies are not, because they are above it.

use core::fmt;
use core::net::SocketAddr;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use evenkeel_tokio::fresh_seed;
use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, Write};
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use super::cut::Cut;
use super::line::{Line, Made};
use super::options::ChannelOptions;
use super::place::Place;
use super::tls::{Tls, protect};
use super::transport::Transport;
use crate::BuildError;
use crate::connect;
use crate::error::BoxError;
use crate::target::TargetName;

/// What makes one connection another one.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Key {
    place: Place,
    security: Security,
    options: ChannelOptions,
    /// Which connector: two that were given are never the same.
    connector: u64,
}

/// How connections are protected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Security {
    Insecure,
    Tls(Tls),
}

/// Channels by what makes them different. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Channels(Arc<Mutex<HashMap<Arc<str>, Vec<Shared>>>>);

type Shared = (Key, Weak<Line<Channel>>);

impl Channels {
    /// The channel with this key, made if nobody has it.
    fn get(&self, key: Key, make: impl FnOnce() -> Arc<Line<Channel>>) -> Arc<Line<Channel>> {
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = channels.get(&key.place.name).into_iter().flatten();
        let mut same = there.filter(|(other, _)| *other == key).filter_map(|(_, l)| l.upgrade());
        if let Some(line) = same.find(|line| line.own()) {
            return line;
        }
        // The moment to forget what is gone.
        channels.retain(|_, lines| {
            lines.retain(|(_, line)| line.strong_count() > 0);
            !lines.is_empty()
        });
        let line = make();
        line.own();
        let name = Arc::clone(&key.place.name);
        channels.entry(name).or_default().push((key, Arc::downgrade(&line)));
        line
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(channels.keys()).finish()
    }
}

/// How a pool's channels are made.
#[derive(Debug)]
pub(crate) struct Dialling {
    security: Security,
    options: ChannelOptions,
    connector: Connectors,
    channels: Channels,
    /// By authority: to read the certificates anew for each address of a name takes time.
    endpoints: Mutex<HashMap<Arc<str>, Endpoint>>,
}

impl Dialling {
    pub(crate) fn new(
        security: Security,
        options: ChannelOptions,
        connector: Connectors,
        channels: Channels,
    ) -> Self {
        Self { security, options, connector, channels, endpoints: Mutex::default() }
    }

    /// Refuses a target to which no channel can be made.
    pub(crate) fn check(&self, target: &TargetName) -> Result<(), BuildError> {
        let somewhere = SocketAddr::from(([0, 0, 0, 0], 1));
        let place = Place::of(target).unwrap_or_else(|| Place::at(target, somewhere));
        self.endpoint(&place).map(drop)
    }

    /// The channel to `place`.
    pub(crate) fn line(&self, place: &Place) -> Result<Arc<Line<Channel>>, BuildError> {
        let endpoint = self.endpoint(place)?;
        let key = Key {
            place: place.clone(),
            security: self.security.clone(),
            options: self.options,
            connector: self.connector.id,
        };
        let dialled = place.dialled(&self.scheme()).map_err(|_| unspeakable(place))?;
        Ok(self.channels.get(key, || {
            let (place, options) = (place.clone(), self.options);
            let connect = Arc::clone(&self.connector.connect);
            let make = move |cut: &Arc<Cut>, calmed| {
                let endpoint = options.apply(endpoint.clone(), calmed);
                connect(&endpoint, &dialled, &place, &options, cut)
            };
            Line::new(Box::new(make), options.idle())
        }))
    }

    /// A channel to `place` of its own, which is never shared and never closed for want of calls:
    /// whoever asked for it does that.
    pub(crate) fn channel(&self, place: &Place) -> Result<Channel, BuildError> {
        let endpoint = self.options.apply(self.endpoint(place)?, 0);
        let dialled = place.dialled(&self.scheme()).map_err(|_| unspeakable(place))?;
        let connect = &self.connector.connect;
        Ok(connect(&endpoint, &dialled, place, &self.options, &Arc::default()).service)
    }

    fn scheme(&self) -> Scheme {
        match self.security {
            Security::Insecure => Scheme::HTTP,
            Security::Tls(_) => Scheme::HTTPS,
        }
    }

    fn endpoint(&self, place: &Place) -> Result<Endpoint, BuildError> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(endpoint) = endpoints.get(&place.authority) {
            return Ok(endpoint.clone());
        }
        let origin = place.origin(&self.scheme()).map_err(|_| unspeakable(place))?;
        let mut endpoint = Endpoint::from(origin);
        if let Security::Tls(tls) = &self.security {
            let limit = self.options.dial().connect_timeout().as_duration();
            endpoint = protect(endpoint, tls, limit)
                .map_err(|(field, rule)| BuildError::Refused { field, rule: rule.into() })?;
        }
        if endpoints.len() >= MOST_ENDPOINTS {
            // A discovery that names ever new machines must not make us grow.
            endpoints.clear();
        }
        endpoints.insert(Arc::clone(&place.authority), endpoint.clone());
        Ok(endpoint)
    }
}

fn unspeakable(place: &Place) -> BuildError {
    let rule = format!("{:?} cannot be written as the authority of a request", place.name);
    BuildError::Refused { field: "channel.target", rule: rule.into() }
}

/// More than there are authorities in most fleets.
const MOST_ENDPOINTS: usize = 1_024;

/// Makes a channel over some connector.
#[derive(Clone)]
pub(crate) struct Connectors {
    id: u64,
    connect: Arc<Connect>,
}

type Connect =
    dyn Fn(&Endpoint, &Uri, &Place, &ChannelOptions, &Arc<Cut>) -> Made<Channel> + Send + Sync;

impl Connectors {
    /// Over plain TCP.
    pub(crate) fn tcp() -> Self {
        Self::of(0, connect::tcp())
    }

    /// Whether it is that one.
    pub(crate) const fn is_tcp(&self) -> bool {
        self.id == 0
    }

    /// Over one that was given; different from every other.
    pub(crate) fn given<C>(connector: C) -> Self
    where
        C: Service<Uri, Response: Read + Write + Send + Unpin, Error: Into<BoxError>>,
        C: Clone + Send + Sync + 'static,
        C::Future: Send + 'static,
        C::Response: 'static,
    {
        static LAST: portable_atomic::AtomicU64 = portable_atomic::AtomicU64::new(0);
        let id = LAST.fetch_add(1, portable_atomic::Ordering::Relaxed).wrapping_add(1);
        Self::of(id, connector)
    }

    fn of<C>(id: u64, connector: C) -> Self
    where
        C: Service<Uri, Response: Read + Write + Send + Unpin, Error: Into<BoxError>>,
        C: Clone + Send + Sync + 'static,
        C::Future: Send + 'static,
        C::Response: 'static,
    {
        let connect = move |endpoint: &Endpoint,
                            dialled: &Uri,
                            place: &Place,
                            options: &ChannelOptions,
                            cut: &Arc<Cut>| {
            let transport = Transport::new(place.way.clone(), connector.clone(), Arc::clone(cut));
            let (connector, connectivity) =
                connect::connector(transport, dialled.clone(), options.dial(), fresh_seed());
            let service = endpoint.connect_with_connector_lazy(connector);
            Made { service, connectivity: Some(connectivity) }
        };
        Self { id, connect: Arc::new(connect) }
    }
}

impl fmt::Debug for Connectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connectors").field(&self.id).finish()
    }
}
