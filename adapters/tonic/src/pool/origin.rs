//! This file knows where the services of members come from: from channels that are dialled, or
//! from somebody who has them already.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_tokio::core::Micros;
use tonic::transport::Channel;

use super::dialling::{Channels, Connectors, Dialling, Security};
use super::directory::{Directory, Lines};
use super::line::{Line, Made};
use super::options::ChannelOptions;
use super::place::Place;
use super::tls::Tls;
use crate::BuildError;
use crate::target::TargetName;

/// Where members' services come from.
pub(super) enum Origin<S> {
    /// Dialled as described, by the function that knows how.
    Dialled(Box<Describe>, Dial<S>),
    Given(Vec<(String, S)>),
}

/// What knows that a dialled member's service is a channel.
pub(super) type Dial<S> = fn(&Dialling, &Place) -> Result<Arc<Line<S>>, BuildError>;

/// How channels are to be dialled.
#[derive(Clone)]
pub(super) struct Describe {
    pub(super) insecure: bool,
    pub(super) tls: Option<Tls>,
    pub(super) options: ChannelOptions,
    pub(super) connector: Connectors,
    pub(super) channels: Channels,
}

impl Origin<Channel> {
    /// By default: TLS over TCP.
    pub(super) fn dialled() -> Self {
        let describe = Describe {
            insecure: false,
            tls: None,
            options: ChannelOptions::DEFAULT,
            connector: Connectors::tcp(),
            channels: Channels::default(),
        };
        Self::Dialled(Box::new(describe), Dialling::line)
    }

    /// Makes channels like those of the members.
    pub(super) fn dialling(&self) -> Result<Dialling, BuildError> {
        match self {
            Self::Dialled(describe, _) => describe.clone().finish(),
            Self::Given(_) => {
                let rule = "services that were given cannot be dialled to be checked; run a \
                            HealthChecker of your own and tell the pool with set_healthy";
                Err(BuildError::Refused { field: "health", rule: rule.into() })
            }
        }
    }
}

impl<S: Clone + Send + 'static> Origin<S> {
    /// Who makes the channels of members, and who these are where that is settled.
    pub(super) fn directory(self, targets: &[TargetName]) -> Result<Directory<S>, BuildError> {
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
        let make = move |_: &_, _| {
            let service = service.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Made { service, connectivity: None }
        };
        let line = Line::new(Box::new(make), None);
        line.own();
        Ok(line)
    })
}

impl Describe {
    fn finish(self) -> Result<Dialling, BuildError> {
        let Self { insecure, tls, options, connector, channels } = self;
        let security = match (insecure, tls) {
            (true, Some(_)) => {
                let rule = "must not be combined with TLS settings: with credentials on an open \
                            line nobody is safe";
                return Err(BuildError::Refused { field: "channel.insecure", rule: rule.into() });
            }
            (true, None) => Security::Insecure,
            (false, tls) => {
                let tls = tls.unwrap_or_default();
                tls.check()
                    .map_err(|(field, rule)| BuildError::Refused { field, rule: rule.into() })?;
                Security::Tls(tls)
            }
        };
        Ok(Dialling::new(security, options, connector, channels))
    }
}
