//! This file knows how a kit, and a pool, are configured by a settings file, and a kit by a
//! gRPC service config.

use std::fs;

use evenkeel_settings as file;
use evenkeel_settings::LoadBalancing;
use evenkeel_tokio::core::{Invalid, Strategy};

use super::KitBuilder;
use crate::BuildError;
use crate::connect::DialPolicy;
use crate::health::HealthMode;
use crate::pool::{ChannelOptions, PoolBuilder, Tls};

impl KitBuilder {
    /// Everything a settings file says: of calls as [`Builder::settings`](crate::Builder::settings),
    /// of members as [`PoolBuilder::settings`], and the section `[health]`, which turns checks on.
    ///
    /// It adds to [`pool`](Self::pool) and [`calls`](Self::calls), and so comes after them. Of
    /// [`health`](Self::health) before it, `[health]` replaces the policy, the mode and the service.
    ///
    /// ```
    /// use evenkeel_tonic::{Kit, evenkeel_settings::Settings};
    ///
    /// # fn kit(settings: &Settings) -> Result<Kit, evenkeel_tonic::BuildError> {
    /// // Settings::from_toml(&std::fs::read_to_string("orders.toml")?)?
    /// //     .with_environment(std::env::vars())?
    /// Kit::builder("orders").settings(settings)?.build()
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`PoolBuilder::settings`].
    pub fn settings(mut self, settings: &file::Settings) -> Result<Self, BuildError> {
        self.calls = self.calls.settings(settings)?.without_warning_of(&SECTIONS);
        self.pool = self.pool.settings(settings)?;
        self.configured = Some("settings");
        let Some(health) = settings.health().cloned() else { return Ok(self) };
        Ok(self.health(move |checker| {
            let mode = match health.mode() {
                file::HealthMode::Check => HealthMode::Check,
                file::HealthMode::Watch => HealthMode::Watch,
            };
            checker.policy(health.policy()).mode(mode).service(health.service())
        }))
    }
}

impl KitBuilder {
    /// What a gRPC service config says: of calls as
    /// [`Builder::service_config`](crate::Builder::service_config), and of members how one is chosen
    /// (`loadBalancingConfig`) and which service's health decides (`healthCheckConfig`).
    ///
    /// A service name turns [checks](Self::health) on, which watch (gRPC A17) unless they are
    /// configured already. `round_robin` and `least_request_experimental` are followed. Members are
    /// never used `pick_first`, nor by weights from load reports: then they are asked one after the
    /// other, and that is warned about.
    ///
    /// What was said before of balancing, and of the service asked about, is replaced; who is a
    /// member, and what may be executed twice, is not the config's business. It comes after
    /// [`pool`](Self::pool) and [`calls`](Self::calls), to which it adds.
    ///
    /// ```
    /// use evenkeel_tonic::{BuildError, Kit, Pool, evenkeel_settings::ServiceConfig};
    ///
    /// # fn kit(config: &ServiceConfig) -> Result<Kit, BuildError> {
    /// // ServiceConfig::from_json(&std::fs::read_to_string("orders.json")?)?
    /// Kit::builder("orders")
    ///     .pool(Pool::builder().target("dns:///orders.internal:50051")?.insecure())
    ///     .service_config(config)
    ///     .build()
    /// # }
    /// ```
    pub fn service_config(mut self, config: &file::ServiceConfig) -> Self {
        self.calls = self.calls.service_config(config);
        self.pool = match config.load_balancing() {
            Some(LoadBalancing::LeastRequest) => self.pool.strategy(Strategy::LeastRequest),
            Some(_) => self.pool.strategy(Strategy::RoundRobin),
            None => self.pool,
        };
        self.configured = Some("service_config");
        let Some(service) = config.health_service().map(str::to_owned) else { return self };
        let watches = self.health.is_none();
        self.health(move |checker| {
            let checker = if watches { checker.mode(HealthMode::Watch) } else { checker };
            checker.service(service)
        })
    }
}

impl PoolBuilder {
    /// What a settings file says of members: its sections `[channel]` and `[balancing]`. Its targets
    /// come to those that were named before. The files of `[channel.tls]` are read now.
    ///
    /// # Errors
    ///
    /// Names a certificate or key that cannot be read. What else a settings file may say is
    /// accepted here, but for what is known only now, such as how long a socket's path may be.
    pub fn settings(mut self, settings: &file::Settings) -> Result<Self, BuildError> {
        self.configured = true;
        if let Some(channel) = settings.channel() {
            self = self.targets(channel.targets().into_iter().flatten().cloned())?;
            self = self.options(options(channel)?);
            if channel.insecure() {
                self = self.insecure();
            }
            if let Some(block) = channel.tls() {
                self = self.tls(tls(block)?);
            }
        }
        if let Some(balancing) = settings.balancing() {
            self = self.outliers(balancing.outlier());
            self = match balancing.strategy() {
                Strategy::Weighted => self.weighted(
                    balancing.weights().map(|(target, weight)| (target, f64::from(weight) / 1e3)),
                )?,
                other => self.strategy(other),
            };
        }
        Ok(self)
    }
}

/// What a kit makes use of and one channel does not.
const SECTIONS: [&str; 3] = ["channel", "balancing", "health"];

fn options(block: &file::Channel) -> Result<ChannelOptions, Invalid> {
    let dial = DialPolicy::new(block.initial_backoff(), block.max_backoff())?
        .with_connect_timeout(block.connect_timeout())?;
    let options = ChannelOptions::DEFAULT.with_dial(dial);
    let options = match block.keepalive_interval() {
        Some(interval) => options.with_keepalive(interval, block.keepalive_timeout())?,
        None => options.without_keepalive(),
    };
    match block.idle_timeout() {
        Some(idle) => options.with_idle(idle),
        None => Ok(options.without_idle()),
    }
}

fn tls(block: &file::Tls) -> Result<Tls, BuildError> {
    let mut tls = Tls::new();
    if let Some(path) = block.ca_file() {
        tls = tls.ca(read("channel.tls.ca_file", path)?);
    }
    if let (Some(certificate), Some(key)) = (block.cert_file(), block.key_file()) {
        let certificate = read("channel.tls.cert_file", certificate)?;
        tls = tls.identity(certificate, read("channel.tls.key_file", key)?);
    }
    Ok(match block.server_name() {
        Some(name) => tls.name(name),
        None => tls,
    })
}

fn read(field: &'static str, path: &str) -> Result<Vec<u8>, BuildError> {
    let refused = |error| BuildError::Refused {
        field,
        rule: format!("{path:?} cannot be read: {error}").into(),
    };
    fs::read(path).map_err(refused)
}
