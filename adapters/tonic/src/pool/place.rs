//! This file knows where a member is dialled, and what it is called there.

use core::net::SocketAddr;
use std::sync::Arc;

use http::Uri;
use http::uri::{InvalidUriParts, Scheme};

use crate::target::{Host, TargetName};

/// One place a call can be sent to.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Place {
    /// In breaker keys, errors and logs; no two members of a pool have the same.
    pub(crate) name: Arc<str>,
    /// Its `:authority`, and the name in its certificate.
    pub(crate) authority: Arc<str>,
    pub(crate) way: Way,
}

/// How it is reached.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Way {
    /// A host, or an address, and a port.
    Tcp(Arc<str>),
    /// The path of a socket.
    Unix(Arc<str>),
}

impl Place {
    /// The place of a target that is one, and not every address of a name.
    pub(crate) fn of(target: &TargetName) -> Option<Self> {
        match target {
            TargetName::Dns { host: Host::Ip(ip), port } => {
                Some(Self::at(target, SocketAddr::new(*ip, *port)))
            }
            TargetName::Dns { .. } => None,
            TargetName::Address { .. } => {
                let name: Arc<str> = target.to_string().into();
                let (authority, way) = (Arc::clone(&name), Way::Tcp(Arc::clone(&name)));
                Some(Self { name, authority, way })
            }
            TargetName::Unix { path } => {
                let (name, authority) = (target.to_string().into(), LOCALHOST.into());
                Some(Self { name, authority, way: Way::Unix(Arc::clone(path)) })
            }
        }
    }

    /// The place at one of the addresses of a name.
    pub(crate) fn at(target: &TargetName, address: SocketAddr) -> Self {
        // Without the scope of a link-local address, which no URI can have.
        let name: Arc<str> = SocketAddr::new(address.ip(), address.port()).to_string().into();
        let authority = match target {
            TargetName::Dns { host, port } => format!("{host}:{port}").into(),
            TargetName::Address { .. } | TargetName::Unix { .. } => Arc::clone(&name),
        };
        Self { authority, way: Way::Tcp(Arc::clone(&name)), name }
    }

    /// The place of a service that was given, which nobody dials.
    pub(crate) fn given(name: &Arc<str>) -> Self {
        let [name, authority, address] = [(); 3].map(|()| Arc::clone(name));
        Self { name, authority, way: Way::Tcp(address) }
    }

    /// What a channel to it is made for.
    pub(crate) fn origin(&self, scheme: &Scheme) -> Result<Uri, InvalidUriParts> {
        uri(scheme, &self.authority)
    }

    /// What a connector is asked for.
    pub(crate) fn dialled(&self, scheme: &Scheme) -> Result<Uri, InvalidUriParts> {
        match &self.way {
            Way::Tcp(address) => uri(scheme, address),
            Way::Unix(_) => uri(scheme, &self.authority),
        }
    }
}

fn uri(scheme: &Scheme, authority: &str) -> Result<Uri, InvalidUriParts> {
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme.clone());
    parts.authority = authority.parse().ok();
    parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    Uri::from_parts(parts)
}

/// What gRPC calls a server behind a socket.
const LOCALHOST: &str = "localhost";
